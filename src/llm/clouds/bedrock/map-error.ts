import { failureByStatus, header, retryAfterMs, speaksOfContextOverflow } from '../../failure-class.js';
import { isRecord, parseJson, text } from '../../reply-json.js';
import type { ErrorReply } from '../../vendor.js';
import { type FailureClass, VendorError } from '../../vendor-error.js';

/** The types of Amazon's refusals, as replies spell them and, with a small letter, streams. */
const byType: Readonly<Record<string, FailureClass>> = {
  accessdeniedexception: 'credential',
  unrecognizedclientexception: 'credential',
  invalidsignatureexception: 'credential',
  expiredtokenexception: 'credential',
  incompletesignatureexception: 'credential',
  missingauthenticationtokenexception: 'credential',
  servicequotaexceededexception: 'exhausted',
  throttlingexception: 'rate',
  modelnotreadyexception: 'overload',
  modeltimeoutexception: 'overload',
  modelerrorexception: 'overload',
  modelstreamerrorexception: 'overload',
  internalserverexception: 'overload',
  serviceunavailableexception: 'overload',
  validationexception: 'request',
  // The only resource that a request names is its model.
  resourcenotfoundexception: 'model_refused',
};

export function mapBedrockError(vendor: string, reply: ErrorReply): VendorError {
  const body = parseJson(reply.body);
  const message = messageIn(body) ?? reply.body;
  // The header holds the type, and after a colon an address.
  const type = header(reply.headers, 'x-amzn-errortype')?.split(':')[0];
  const retryAfter = retryAfterMs(reply.headers, reply.nowMs);
  return new VendorError(classOf(type, message) ?? failureByStatus(reply.status), message, {
    vendor,
    status: reply.status,
    ...(type !== undefined && { code: type }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
  });
}

/** An exception inside a stream that began with success. */
export function mapBedrockException(vendor: string, type: string, data: string): VendorError {
  const message = messageIn(parseJson(data)) ?? 'the vendor reported an error without a message';
  return new VendorError(classOf(type, message) ?? 'overload', message, { vendor, code: type });
}

export function isBedrockException(type: string): boolean {
  return Object.hasOwn(byType, type.toLowerCase()) || type.endsWith('Exception');
}

function messageIn(body: unknown): string | undefined {
  return isRecord(body) ? (text(body['message']) ?? text(body['Message'])) : undefined;
}

function classOf(type: string | undefined, message: string): FailureClass | undefined {
  const key = (type ?? '').toLowerCase();
  const failure = Object.hasOwn(byType, key) ? byType[key] : undefined;
  // The same type for a key that is wrong and for one that may not use the model.
  if (failure === 'credential' && key === 'accessdeniedexception' && speaksOfModel(message)) {
    return 'model_refused';
  }
  return failure === 'request' && speaksOfContextOverflow(message) ? 'context_overflow' : failure;
}

/** By name, or as the resource of a policy of the account. */
function speaksOfModel(message: string): boolean {
  return /\bmodels?\b|\b(foundation-model|inference-profile)\//i.test(message);
}
