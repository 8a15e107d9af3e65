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
import type { ReadParts } from '../parts/index.js';
import { type AnswerFit, schemaFormatOf } from '../response-format/index.js';
import { callSources } from './call-order.js';
import { directStream, wholeAnswer } from './direct-answer.js';
import { FittingCall } from './fitting-call.js';
import type { ModelCalls, RunningCall } from './model-calls.js';
import { placedParts } from './native-message.js';
import { answerKey, type ResponseCache } from './response-cache.js';
import { streamedAnswer } from './stream-answer.js';
import {
  callAnswer,
  callChunk,
  callStreamExample,
  type CallBody,
  callBody,
  mayRepeat,
  modelRow,
  modelShape,
  requestOf,
} from './shapes.js';

/** Room for images and files. */
const bodyBytesMax = 20 * 1024 * 1024;
const textBytesMax = 4 * 1024 * 1024;

const refusals: readonly ErrorCode[] = [
  'missing_required_field',
  'invalid_model',
  'invalid_model_for_key',
  'invalid_provider',
  'email_unverified',
  'MODEL_TIER_RESTRICTED',
  'quota_exceeded',
  'unsupported_content',
  'response_format_mismatch',
  'provider_error',
  'provider_timeout',
  'provider_unavailable',
];

export interface CallOperationParts {
  readonly calls: ModelCalls;
  readonly cache: ResponseCache;
  readonly catalogue: Catalogue;
  readonly readParts: ReadParts;
  readonly fit: AnswerFit;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

export function callOperations({
  calls,
  cache,
  catalogue,
  readParts,
  fit,
  time,
  report,
}: CallOperationParts): readonly Operation[] {
  const failed = (error: unknown): void => report('a model call after its answer began', error);
  const handle = async (request: OperationRequest<TenantCaller, unknown, unknown, CallBody>) => {
    const { caller, body, leaving, headers } = request;
    const startedAtMs = time.monotonicMs();
    const format = body.response_format ?? undefined;
    if (format !== undefined) {
      await fit.examine(caller.scope, format.json_schema.schema, 'response_format.json_schema.schema');
    }
    const parts = placedParts(body.messages);
    const read = parts.length === 0 ? [] : await readParts(caller.scope, parts, request.signal);
    const order = {
      scope: caller.scope,
      limits: caller.limits,
      source: callSources.direct,
      keyId: caller.kind === 'key' ? caller.keyId : null,
      userId: caller.kind === 'key' ? null : caller.userId,
      model: body.model,
      provider: body.provider,
      request: requestOf(body, read),
      signal: leaving,
    };
    // The permission is checked before the cache is read.
    const prepared = await calls.prepare(order);
    const begin = (): RunningCall =>
      format === undefined
        ? prepared()
        : new FittingCall({ calls, fit }, order, schemaFormatOf(format), prepared());
    const call = mayRepeat(body, headers['cache-control'])
      ? await cache.serve(answerKey(order, prepared), leaving, begin, (answer) =>
          calls.recordHit(order, answer, startedAtMs),
        )
      : begin();
    const isJson = format !== undefined;
    return body.stream ? streamedAnswer(call, () => directStream(isJson), failed) : wholeAnswer(call, isJson);
  };
  const common = {
    method: 'POST',
    description:
      'The messages come before the query. With `stream: true` the answer is a stream of server-sent events: ' +
      '`{chunk, done: false}` for each piece, and `{chunk: "", done: true, usage}` at the end. Calls with ' +
      '`temperature: 0` or `cache: true` may return a cached answer of the last hour, free of charge. ' +
      '`content` of a message of the user is a text or a list of parts: `text`, `image` and `file`, the last two with ' +
      '`data` (base64) or `url`, of at most 5 MB each (else 413); beside them the body has at most 4 MB. An answer that does not fit `response_format` is asked for once ' +
      'more; nothing of it is sent before it was checked. ' +
      'A `max_tokens` above the limit of the model is reduced to that limit.',
    rate: 'model-work',
    idempotency: 'answer',
    unknownFields: 'ignore',
    body: callBody,
    bodyRules: { maxBytes: bodyBytesMax, textBytesMax },
    headers: ['cache-control'],
    output: callAnswer,
    shown: {
      bodyExample: { query: 'Where is order 1042?', model: 'auto' },
      events: callChunk,
      eventsExample: callStreamExample,
      headers: ['X-Troupe-Paid-By'],
    },
    errors: refusals,
  } as const;
  return [
    declare({
      ...common,
      name: 'llm.public-call',
      audit: { exempt: 'model calls leave no entry; the ledger is their record', entries: 'never' },
      path: '/api/v3/llm/public/call',
      title: 'Call a model with an API key.',
      access: apiKey('llm:call'),
      handle,
    }),
    declare({
      ...common,
      name: 'llm.call',
      audit: { exempt: 'model calls leave no entry; the ledger is their record', entries: 'never' },
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
        return list(catalogue.all.map((model) => modelRow(model, isAvailable(model.vendor))));
      },
    }),
  ];
}
