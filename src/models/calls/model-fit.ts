/** Whether a model makes what a call asks for. */
import { PlatformError } from '../../kernel/errors.js';
import {
  type CatalogueModel,
  type EmbeddingRequest,
  type LlmRequest,
  type ModelKind,
  numbersInReplyMax,
} from '../../llm/index.js';

/** The length that is assumed of an operator's model without `dimensions`. */
const assumedDimensions = 4_096;

/** The kind of model that the request is for. */
export function kindOf({ embedding }: LlmRequest): ModelKind {
  return embedding === undefined ? 'chat' : 'embedding';
}

export function isOfKind({ kind }: CatalogueModel, request: LlmRequest): boolean {
  return kind === kindOf(request);
}

/** The refusal of a request that the model cannot serve, before anything is spent. */
export function unfitFor(model: CatalogueModel, request: LlmRequest): PlatformError | undefined {
  if (!isOfKind(model, request)) return otherKind(model);
  return request.embedding === undefined ? undefined : unfitInputs(model, request.embedding);
}

function otherKind({ id, kind }: CatalogueModel): PlatformError {
  const advice =
    kind === 'embedding'
      ? 'makes vectors and no answers. Call it with POST /v1/embeddings, or choose another model.'
      : 'makes no vectors. GET /api/v3/llm/models lists those of the kind embedding.';
  return new PlatformError('invalid_model', {
    message: `The model ${id} ${advice}`,
    details: { field: 'model', issue: `is of the kind ${kind}` },
  });
}

function unfitInputs(model: CatalogueModel, { inputs, dimensions, encoding }: EmbeddingRequest) {
  const { id, capabilities, maxInputs } = model;
  if (typeof inputs[0] !== 'string' && !capabilities.has('token_input')) {
    return refusal('input', `The model ${id} takes texts, not tokens`);
  }
  if (maxInputs !== undefined && inputs.length > maxInputs) {
    return refusal(
      'input',
      `The model ${id} takes at most ${maxInputs} inputs in one call, not ${inputs.length}`,
    );
  }
  if (dimensions !== undefined && !capabilities.has('variable_dimensions')) {
    return refusal('dimensions', `The vectors of the model ${id} have one length. Leave dimensions out`);
  }
  if (dimensions !== undefined && model.vendor !== 'sim' && dimensions > (model.dimensions ?? dimensions)) {
    return refusal('dimensions', `The vectors of the model ${id} have at most ${model.dimensions} numbers`);
  }
  const numbers = inputs.length * (dimensions ?? model.dimensions ?? assumedDimensions);
  // The simulated vendor computes each number on this node, so base64 does not spare it.
  const arePacked = encoding === 'base64' && capabilities.has('base64_vectors');
  if (!arePacked && numbers > numbersInReplyMax) {
    return refusal(
      'input',
      `One answer has at most ${numbersInReplyMax} numbers, and this one would have ${numbers}. Send fewer inputs` +
        (capabilities.has('base64_vectors') ? ', or ask for encoding_format base64' : ''),
    );
  }
  return undefined;
}

function refusal(field: string, message: string): PlatformError {
  return new PlatformError('validation_error', {
    message: `${message}.`,
    details: { field, issue: message },
  });
}
