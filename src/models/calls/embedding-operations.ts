import { z } from 'zod';
import type { TenantLimits } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { modelMeantBy } from '../../kernel/model-aliases.js';
import type { EmbeddingVector } from '../../llm/index.js';
import { apiKey, declare, JsonReply, type Operation } from '../../http/operations/index.js';
import {
  embeddingsRequestShape,
  embeddingsShape,
  type EmbeddingsRequest,
  fromEmbeddingsRequest,
  ignoredHeader,
  toEmbeddingsReply,
} from '../compat/index.js';
import { callSources } from './call-order.js';
import type { ModelCalls } from './model-calls.js';
import { compatRefusals, payerHeaders, toNobody } from './replies.js';

/** 2,048 inputs of a few thousand characters. */
const bodyBytesMax = 4 * 1024 * 1024;

export function embeddingOperations(parts: { readonly calls: ModelCalls }): readonly Operation[] {
  return [
    declare({
      name: 'compat.embeddings',
      method: 'POST',
      path: '/v1/embeddings',
      title: 'Turn texts into vectors with an OpenAI embeddings request.',
      description:
        '`input` is a text, up to 2,048 texts, or tokens of models that take them. `GET /api/v3/llm/models` lists the models of the kind `embedding`. `user` has no effect and is named in `X-Troupe-Ignored`.',
      audit: { exempt: 'model calls leave no entry; the ledger is their record', entries: 'never' },
      idempotency: { exempt: 'the call stores nothing that its caller can read' },
      access: apiKey('llm:call'),
      rate: 'model-work',
      dialect: 'openai',
      body: z.looseObject({ model: z.string() }).transform(fromEmbeddingsRequest),
      bodyRules: { maxBytes: bodyBytesMax },
      output: z.unknown(),
      shown: {
        output: embeddingsShape,
        body: embeddingsRequestShape,
        bodyExample: { model: 'openai.text-embedding-3-small', input: ['Where is order 1042?'] },
        headers: ['X-Troupe-Paid-By', 'X-Troupe-Ignored'],
      },
      errors: compatRefusals,
      async handle({ caller, body, leaving }) {
        const begin = await parts.calls.prepare({
          scope: caller.scope,
          limits: caller.limits,
          source: callSources.direct,
          keyId: caller.keyId,
          userId: null,
          model: named(caller.limits, body),
          preferredVendor: 'openai',
          request: body.request,
          signal: leaving,
        });
        const vectors: EmbeddingVector[] = [];
        const served = await begin().run((events) => {
          for (const event of events) if (event.type === 'embedding') vectors.push(event.vector);
        });
        if (served === undefined) return toNobody;
        const reply = toEmbeddingsReply(vectors, body.encoding, served);
        const headers = { ...payerHeaders(served.payer), ...ignoredHeader(body.ignored) };
        return new JsonReply<unknown>(reply, 200, headers);
      },
    }),
  ];
}

function named(limits: TenantLimits, { model: given }: EmbeddingsRequest): string {
  const model = modelMeantBy(limits, given);
  if (model === 'auto') {
    throw new PlatformError('invalid_model', {
      message:
        'model: vectors of different models cannot be compared, so embeddings need the name of a model.',
      details: { field: 'model', issue: 'cannot be auto' },
    });
  }
  return model;
}
