import type { ErrorObject, ErrorResponse } from '@anthropic-ai/sdk/resources/shared';
import { failureByStatus, header, retryAfterMs, speaksOfContextOverflow } from '../failure-class.js';
import { isRecord, parseJson, text, type Loose } from '../reply-json.js';
import { VendorError, type FailureClass } from '../vendor-error.js';
import type { ErrorReply } from '../vendor.js';

const byType = {
  invalid_request_error: 'request',
  authentication_error: 'credential',
  billing_error: 'exhausted',
  permission_error: 'credential',
  not_found_error: 'request',
  rate_limit_error: 'rate',
  timeout_error: 'overload',
  api_error: 'overload',
  overloaded_error: 'overload',
} as const satisfies Record<ErrorObject['type'], FailureClass>;

export function mapAnthropicError(reply: ErrorReply): VendorError {
  const { type, message } = errorFacts(parseJson(reply.body));
  const retryAfter = retryAfterMs(reply.headers, reply.nowMs);
  const failure = classOf(type, message ?? '', failureByStatus(reply.status));
  // A 429 without a retry time is a spending limit: a retry with the same account fails.
  const spendingLimit = reply.status === 429 && retryAfter === undefined;
  const refusesRepeat = header(reply.headers, 'x-should-retry') === 'false';
  return new VendorError(failure, message ?? reply.body, {
    vendor: 'anthropic',
    status: reply.status,
    ...(type !== undefined && { code: type }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
    ...((spendingLimit || refusesRepeat) && { neverRetry: true }),
  });
}

/** The `error` event, which may arrive at any point after a success status. */
export function mapAnthropicErrorEvent(raw: unknown): VendorError {
  const { type, message } = errorFacts(raw);
  const failure = classOf(type, message ?? '', undefined);
  return new VendorError(failure, message ?? 'the vendor reported an error without a message', {
    vendor: 'anthropic',
    ...(type !== undefined && { code: type }),
  });
}

function errorFacts(body: unknown): { type: string | undefined; message: string | undefined } {
  if (!isRecord(body)) return { type: undefined, message: undefined };
  const response: Loose<ErrorResponse> = body;
  const error = isRecord(response.error) ? response.error : body;
  return { type: text(error['type']), message: text(error['message']) };
}

function classOf(
  type: string | undefined,
  message: string,
  byStatus: FailureClass | undefined,
): FailureClass {
  const known: Readonly<Record<string, FailureClass>> = byType;
  const named = type !== undefined && Object.hasOwn(known, type) ? known[type] : undefined;
  const failure = named ?? byStatus ?? 'overload';
  if (failure !== 'request') return failure;
  if (type === 'not_found_error' && /^model\b/i.test(message)) return 'model_refused';
  if (/credit balance is too low/i.test(message)) return 'exhausted';
  return speaksOfContextOverflow(message) ? 'context_overflow' : 'request';
}
