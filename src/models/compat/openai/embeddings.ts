/** Translates requests of OpenAI's embeddings into the platform's own, and vectors into its replies. */
import type { CreateEmbeddingResponse } from 'openai/resources/embeddings';
import { z } from 'zod';
import { invalidField, PlatformError } from '../../../kernel/errors.js';
import {
  type EmbeddingRequest,
  type EmbeddingVector,
  inputTokens,
  type Usage,
  vectorToBase64,
  vectorToNumbers,
} from '../../../llm/index.js';
import { ignoredFields } from '../body-fields.js';
import { type CompatRequest, parseCompatBody } from '../compat-request.js';

const inputsMax = 2_048;
/** Of one input; OpenAI's models take as many. */
const tokensMax = 8_192;
const tokenMax = 2 ** 31 - 1;

const rules = { known: ['model', 'input', 'dimensions', 'encoding_format'], ignored: ['user'] };

const fields = z.object({
  model: z.string().min(1).max(200),
  dimensions: z.int().min(1).max(16_384).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

export interface EmbeddingsRequest extends CompatRequest {
  readonly encoding: EmbeddingRequest['encoding'];
  readonly ignored: readonly string[];
}

export function fromEmbeddingsRequest(body: Readonly<Record<string, unknown>>): EmbeddingsRequest {
  const ignored = ignoredFields(body, rules);
  const { model, dimensions, encoding_format } = parseCompatBody(fields, body);
  const encoding = encoding_format ?? 'float';
  const embedding: EmbeddingRequest = {
    inputs: inputsOf(body['input']),
    encoding,
    ...(dimensions != null && { dimensions }),
  };
  return { model, encoding, ignored, request: { messages: [], stream: false, embedding } };
}

function inputsOf(input: unknown): EmbeddingRequest['inputs'] {
  if (input === undefined) {
    throw new PlatformError('missing_required_field', {
      message: 'input is required.',
      details: { field: 'input', issue: 'required' },
    });
  }
  if (typeof input === 'string') return [text(input, 'input')];
  if (!Array.isArray(input) || input.length === 0) {
    throw invalidField(
      'input',
      'must be a text, a list of texts, a list of tokens or a list of lists of tokens',
    );
  }
  if (typeof input[0] === 'number') return [tokens(input, 'input')];
  if (input.length > inputsMax) throw invalidField('input', `must have at most ${inputsMax} inputs`);
  return typeof input[0] === 'string'
    ? input.map((each, at) => text(each, `input.${at}`))
    : input.map((each, at) => tokens(each, `input.${at}`));
}

function text(value: unknown, field: string): string {
  if (typeof value !== 'string') throw invalidField(field, 'must be a text, as the first input is');
  if (value === '') throw invalidField(field, 'must not be empty');
  return value;
}

function tokens(value: unknown, field: string): readonly number[] {
  if (!Array.isArray(value) || value.length === 0) throw invalidField(field, 'must be a list of tokens');
  if (value.length > tokensMax) throw invalidField(field, `must have at most ${tokensMax} tokens`);
  const list: readonly unknown[] = value;
  const wrong = list.findIndex((each) => !isToken(each));
  if (wrong >= 0) throw invalidField(`${field}.${wrong}`, 'must be a token, a whole number from 0');
  return list.filter(isToken);
}

function isToken(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= tokenMax;
}

type EmbeddingsReply = Omit<CreateEmbeddingResponse, 'data'> & {
  readonly data: readonly {
    readonly object: 'embedding';
    readonly index: number;
    readonly embedding: EmbeddingVector;
  }[];
};

export function toEmbeddingsReply(
  vectors: readonly EmbeddingVector[],
  encoding: EmbeddingRequest['encoding'],
  answered: { readonly model: string; readonly usage: Usage },
): EmbeddingsReply {
  const spent = inputTokens(answered.usage);
  const written = encoding === 'base64' ? vectorToBase64 : vectorToNumbers;
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: written(vector) })),
    model: answered.model,
    usage: { prompt_tokens: spent, total_tokens: spent },
  };
}
