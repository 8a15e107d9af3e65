import type { ErrorObject } from 'openai/resources/shared';
import { failureByStatus, header, retryAfterMs, speaksOfContextOverflow } from '../failure-class.js';
import { isRecord, parseJson, text, type Loose } from '../reply-json.js';
import { VendorError, type FailureClass } from '../vendor-error.js';
import type { ErrorReply } from '../vendor.js';

const byCode: Readonly<Record<string, FailureClass>> = {
  insufficient_quota: 'exhausted',
  billing_hard_limit_reached: 'exhausted',
  billing_not_active: 'exhausted',
  invalid_api_key: 'credential',
  account_deactivated: 'credential',
  authentication_error: 'credential',
  permission_error: 'credential',
  rate_limit_exceeded: 'rate',
  rate_limit_error: 'rate',
  requests: 'rate',
  tokens: 'rate',
  context_length_exceeded: 'context_overflow',
  content_policy_violation: 'policy',
  content_filter: 'policy',
  invalid_prompt: 'policy',
  model_not_found: 'model_refused',
  invalid_request_error: 'request',
  server_error: 'overload',
  internal_error: 'overload',
  overloaded_error: 'overload',
  service_unavailable: 'overload',
};

/** Classes that a name tells and no status does. */
const moreExact: ReadonlySet<FailureClass> = new Set([
  'exhausted',
  'context_overflow',
  'policy',
  'model_refused',
]);

/** Maps an error status. */
export function mapChatError(vendor: string, reply: ErrorReply): VendorError {
  const error = errorObject(parseJson(reply.body));
  const retryAfter = retryAfterMs(reply.headers, reply.nowMs);
  const verdict = header(reply.headers, 'x-should-retry');
  return new VendorError(classOf(error, reply.status, retryAfter), error.message ?? reply.body, {
    vendor,
    status: reply.status,
    ...(error.code !== undefined && { code: error.code }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
    ...(verdict === 'false' && { neverRetry: true }),
  });
}

/** Maps an error that arrived as ordinary data with a success status. */
export function mapChatErrorObject(vendor: string, raw: unknown): VendorError {
  const error = errorObject({ error: raw });
  const status = error.status;
  const failure = classOf(error, status ?? 500, undefined);
  return new VendorError(failure, error.message ?? 'the vendor reported an error without a message', {
    vendor,
    ...(status !== undefined && { status }),
    ...(error.code !== undefined && { code: error.code }),
  });
}

interface ErrorFacts {
  readonly message: string | undefined;
  readonly code: string | undefined;
  readonly type: string | undefined;
  readonly status: number | undefined;
  /** The place in the request. */
  readonly param: string | undefined;
  readonly moderated: boolean;
}

/** Accepts `{error: {…}}`, a list with one such object, a flat object, or plain text: vendors send all of them. */
function errorObject(body: unknown): ErrorFacts {
  const whole = Array.isArray(body) ? body[0] : body;
  const inner = isRecord(whole) ? (whole['error'] ?? whole) : whole;
  if (typeof inner === 'string') return { ...noFacts, message: inner };
  if (!isRecord(inner)) return noFacts;
  const error: Loose<ErrorObject> = inner;
  const metadata = isRecord(inner['metadata']) ? inner['metadata'] : {};
  const numeric = numberOf(inner['code'] ?? inner['status']);
  return {
    message: text(error.message) ?? text(inner['detail']),
    code: text(error.code) ?? text(error.type),
    type: text(error.type),
    status: Number.isInteger(numeric) && numeric >= 400 && numeric < 600 ? numeric : undefined,
    param: text(error.param),
    moderated: Array.isArray(metadata['reasons']),
  };
}

/** Reads a number or its digits. An object is not converted, since its conversion may throw. */
function numberOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

const noFacts: ErrorFacts = {
  message: undefined,
  code: undefined,
  type: undefined,
  status: undefined,
  param: undefined,
  moderated: false,
};

function classOf(error: ErrorFacts, status: number, retryAfter: number | undefined): FailureClass {
  const named = lookUp(error.code) ?? lookUp(error.type);
  const byStatus = failureByStatus(status);
  if (named !== undefined && moreExact.has(named)) return named;
  if (error.code === 'string_above_max_length' && isOfPrompt(error)) return 'context_overflow';
  if (error.moderated) return 'policy';
  // An aggregator's 402 with a retry time is a temporary limit, not an empty account.
  if (status === 402 && retryAfter !== undefined) return 'rate';
  if (byStatus === 'request' || status === 413) {
    return speaksOfContextOverflow(error.message ?? '') ? 'context_overflow' : 'request';
  }
  // A status of 500 stands for "no status" when the error came inside a stream; there the name says more.
  return status === 500 && named !== undefined ? named : byStatus;
}

/** A text of the prompt can be shorter; an id or a name that is too long is wrong. Without its place it is the prompt. */
function isOfPrompt({ param, message = '' }: ErrorFacts): boolean {
  const place = param ?? /^Invalid '([^']+)'/.exec(message)?.[1] ?? 'content';
  return /(^|\.)(content|text|input|prompt|arguments|output|instructions)(\[\d+\])*$/.test(place);
}

function lookUp(code: string | undefined): FailureClass | undefined {
  return code !== undefined && Object.hasOwn(byCode, code) ? byCode[code] : undefined;
}
