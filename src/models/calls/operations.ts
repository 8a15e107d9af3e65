import type { Time } from '../../../cluster/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import type { ErrorCode } from '../../kernel/errors.js';
import type { Catalogue } from '../../llm/index.js';
import {
  apiKey,
  declare,
  list,
  listShape,
  type Operation,
  type OperationRequest,
  tenantCaller,
  tenantUser,
} from '../../http/operations/index.js';
import { callSources } from './call-order.js';
import { directStream, wholeAnswer } from './direct-answer.js';
import type { ModelCalls } from './model-calls.js';
import { answerKey, type ResponseCache } from './response-cache.js';
import { streamedAnswer } from './stream-answer.js';
import { callAnswer, type CallBody, callBody, mayRepeat, modelShape, requestOf } from './shapes.js';

/** Room for long conversations; no model takes a larger prompt. */
const bodyBytesMax = 4 * 1024 * 1024;

const refusals: readonly ErrorCode[] = [
  'missing_required_field',
  'invalid_model',
  'invalid_model_for_key',
  'invalid_provider',
  'email_unverified',
  'MODEL_TIER_RESTRICTED',
  'quota_exceeded',
  'provider_error',
  'provider_timeout',
  'provider_unavailable',
];

export interface CallOperationParts {
  readonly calls: ModelCalls;
  readonly cache: ResponseCache;
  readonly catalogue: Catalogue;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

export function callOperations({
  calls,
  cache,
  catalogue,
  time,
  report,
}: CallOperationParts): readonly Operation[] {
  const failed = (error: unknown): void => report('a model call after its answer began', error);
  const handle = async (request: OperationRequest<TenantCaller, unknown, unknown, CallBody>) => {
    const { caller, body, leaving, headers } = request;
    const startedAtMs = time.monotonicMs();
    const order = {
      scope: caller.scope,
      limits: caller.limits,
      source: callSources.direct,
      keyId: caller.kind === 'key' ? caller.keyId : null,
      userId: caller.kind === 'key' ? null : caller.userId,
      model: body.model,
      provider: body.provider,
      request: requestOf(body),
      signal: leaving,
    };
    // The permission is checked before the cache is read.
    const begin = await calls.prepare(order);
    const call = mayRepeat(body, headers['cache-control'])
      ? await cache.serve(answerKey(order), leaving, begin, (answer) =>
          calls.recordHit(order, answer, startedAtMs),
        )
      : begin();
    return body.stream ? streamedAnswer(call, () => directStream, failed) : wholeAnswer(call);
  };
  const common = {
    method: 'POST',
    description:
      'The messages come before the query. With `stream: true` the answer is a stream of server-sent events: ' +
      '`{chunk, done: false}` for each piece, and `{chunk: "", done: true, usage}` at the end. Calls with ' +
      '`temperature: 0` or `cache: true` may return a cached answer of the last hour, free of charge. ' +
      'A `max_tokens` above the limit of the model is reduced to that limit.',
    rate: 'model-work',
    idempotency: 'answer',
    unknownFields: 'ignore',
    body: callBody,
    bodyRules: { maxBytes: bodyBytesMax },
    headers: ['cache-control'],
    output: callAnswer,
    errors: refusals,
  } as const;
  return [
    declare({
      ...common,
      name: 'llm.public-call',
      audit: { exempt: 'model calls leave no entry; the ledger is their record' },
      path: '/api/v3/llm/public/call',
      title: 'Call a model with an API key.',
      access: apiKey('llm:call'),
      handle,
    }),
    declare({
      ...common,
      name: 'llm.call',
      audit: { exempt: 'model calls leave no entry; the ledger is their record' },
      path: '/api/v3/llm/call',
      title: 'Call a model as a signed-in user.',
      access: tenantUser('llm:call'),
      handle,
    }),
    declare({
      name: 'llm.models',
      method: 'GET',
      path: '/api/v3/llm/models',
      title: 'List the models that can be called by name, with tiers and prices.',
      access: tenantCaller('models:read'),
      output: listShape(modelShape),
      async handle({ caller }) {
        const isAvailable = await calls.vendorsOf(caller.scope);
        return list(
          catalogue.all.map(({ id, vendor, tier, price, contextWindow, maxOutputTokens, capabilities }) => ({
            id,
            vendor,
            tier,
            context_window: contextWindow,
            max_output_tokens: maxOutputTokens,
            price: {
              input_per_mtok: price.input_per_mtok,
              output_per_mtok: price.output_per_mtok,
              cached_input_per_mtok: price.cached_input_per_mtok ?? price.input_per_mtok,
            },
            capabilities: [...capabilities],
            available: isAvailable(vendor),
          })),
        );
      },
    }),
  ];
}
