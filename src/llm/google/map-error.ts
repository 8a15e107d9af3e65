import { failureByStatus, retryAfterMs, speaksOfContextOverflow } from '../failure-class.js';
import { isRecord, parseJson, text } from '../reply-json.js';
import { VendorError, type FailureClass } from '../vendor-error.js';
import type { ErrorReply } from '../vendor.js';

/** google.rpc.Code, where it is more precise than the HTTP status. */
const byStatusName: Readonly<Record<string, FailureClass>> = {
  UNAUTHENTICATED: 'credential',
  PERMISSION_DENIED: 'credential',
  RESOURCE_EXHAUSTED: 'rate',
  UNAVAILABLE: 'overload',
  INTERNAL: 'overload',
  DEADLINE_EXCEEDED: 'overload',
  ABORTED: 'overload',
  CANCELLED: 'overload',
  UNKNOWN: 'overload',
};

export function mapGeminiError(reply: ErrorReply): VendorError {
  return errorOf(parseJson(reply.body), reply.body, reply.status, retryAfterMs(reply.headers, reply.nowMs));
}

/** `{error: …}` as ordinary data of a stream. */
export function mapGeminiErrorObject(body: unknown): VendorError {
  return errorOf(body, 'the vendor reported an error without a message', undefined, undefined);
}

function errorOf(
  body: unknown,
  fallback: string,
  httpStatus: number | undefined,
  headerRetryAfter: number | undefined,
): VendorError {
  const whole: unknown = Array.isArray(body) ? body[0] : body;
  const error = isRecord(whole) && isRecord(whole['error']) ? whole['error'] : {};
  const status = httpStatus ?? (typeof error['code'] === 'number' ? error['code'] : undefined);
  const name = text(error['status']);
  const message = text(error['message']) ?? fallback;
  const details = Array.isArray(error['details']) ? error['details'].filter(isRecord) : [];
  const retryAfter = headerRetryAfter ?? retryDelayMs(details);
  return new VendorError(classOf(name, message, details, status), message, {
    vendor: 'google',
    ...(status !== undefined && { status }),
    ...(name !== undefined && { code: name }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
  });
}

type Details = readonly Readonly<Record<string, unknown>>[];

function classOf(
  name: string | undefined,
  message: string,
  details: Details,
  status: number | undefined,
): FailureClass {
  // This vendor reports a bad key as an invalid argument.
  const reason = details.some((detail) => detail['reason'] === 'API_KEY_INVALID');
  if (reason || /api key (not valid|expired)/i.test(message)) return 'credential';
  const daily = dailyQuotas(details);
  // The other models of the project have a quota of their own.
  if (daily.length > 0) return daily.every((id) => /PerModel/.test(id)) ? 'model_refused' : 'exhausted';
  const named = name !== undefined && Object.hasOwn(byStatusName, name) ? byStatusName[name] : undefined;
  const failure = named ?? (status === undefined ? 'overload' : failureByStatus(status));
  return failure === 'request' && speaksOfContextOverflow(message) ? 'context_overflow' : failure;
}

/** The names of the daily quotas that are used up. A retry cannot outwait one. */
function dailyQuotas(details: Details): readonly string[] {
  return details
    .flatMap(({ violations }): readonly unknown[] => (Array.isArray(violations) ? violations : []))
    .map((each) => (isRecord(each) ? (text(each['quotaId']) ?? '') : ''))
    .filter((id) => id.includes('PerDay'));
}

/** RetryInfo: `{"retryDelay": "34.07s"}`. */
function retryDelayMs(details: Details): number | undefined {
  for (const detail of details) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(text(detail['retryDelay']) ?? '')?.[1];
    if (seconds !== undefined) return Number.parseFloat(seconds) * 1000;
  }
  return undefined;
}
