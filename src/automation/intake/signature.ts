import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SecretValue } from '../../tenancy/vault/index.js';

/** The tolerated difference between the sender's clock and this node's, including the transport. */
const toleranceMs = 5 * 60_000;

/**
 * Ten digits: from 2001 to 2286. No other form is accepted, so that a body that could hold a timestamp is recognisable.
 */
const unixSeconds = /^[1-9]\d{9}$/;
const timestampBytes = 10;

export interface SignedRequest {
  readonly body: Uint8Array;
  /** `sha256=<hex>` or `sha512=<hex>`. */
  readonly signature: string | undefined;
  /** Unix seconds. If present, it is part of the signed content. */
  readonly timestamp: string | undefined;
}

/**
 * Whether one of the secrets signed the request. Two secrets are valid during a rotation; all are tried, so that the
 * time does not reveal which one matched.
 */
export function isSigned(
  request: SignedRequest,
  secrets: readonly SecretValue[],
  options: { readonly requireTimestamp: boolean; readonly nowMs: number },
): boolean {
  const { signature = '' } = request;
  const algorithm = signature.slice(0, 'sha256'.length).toLowerCase();
  const hex = signature.slice('sha256='.length);
  if ((algorithm !== 'sha256' && algorithm !== 'sha512') || signature.charAt(algorithm.length) !== '=') {
    return false;
  }
  if (request.timestamp === undefined && options.requireTimestamp) return false;
  if (isTimestampInBody(request)) return false;
  if (request.timestamp !== undefined && !isRecent(request.timestamp, options.nowMs)) return false;
  const given = Buffer.from(hex, 'hex');
  // Buffer.from stops at the first character that is not hexadecimal.
  if (given.length * 2 !== hex.length) return false;
  let matches = false;
  for (const secret of secrets) {
    const mac = createHmac(algorithm, secret.reveal());
    if (request.timestamp !== undefined) mac.update(`${request.timestamp}.`);
    const expected = mac.update(request.body).digest();
    if (expected.length === given.length && timingSafeEqual(expected, given)) matches = true;
  }
  return matches;
}

/**
 * Whether the body begins like the signed content of a request with a timestamp. Its signature may have been captured
 * from such a request and would verify forever, so it proves nothing for a request without a timestamp.
 */
export function isTimestampInBody({ body, timestamp }: SignedRequest): boolean {
  if (timestamp !== undefined || body[timestampBytes] !== dot) return false;
  return unixSeconds.test(Buffer.from(body.subarray(0, timestampBytes)).toString('latin1'));
}

const dot = '.'.charCodeAt(0);

function isRecent(timestamp: string, nowMs: number): boolean {
  return unixSeconds.test(timestamp) && Math.abs(nowMs - Number(timestamp) * 1_000) <= toleranceMs;
}

/** Meta's signature: `X-Hub-Signature-256: sha256=<hex>`, keyed with the app's secret. */
export function isHubSigned(body: Uint8Array, signature: string | undefined, appSecret: string): boolean {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(signature ?? '') ?? [];
  if (hex === undefined) return false;
  return timingSafeEqual(createHmac('sha256', appSecret).update(body).digest(), Buffer.from(hex, 'hex'));
}

/** Slack's signature: `v0=<hex>` over `v0:<timestamp>:<body>`, at most five minutes old. */
export function isSlackSigned(
  body: Uint8Array,
  { signature, timestamp }: Pick<SignedRequest, 'signature' | 'timestamp'>,
  signingSecret: string,
  nowMs: number,
): boolean {
  const [, hex] = /^v0=([0-9a-f]{64})$/i.exec(signature ?? '') ?? [];
  if (hex === undefined || timestamp === undefined || !isRecent(timestamp, nowMs)) return false;
  const expected = createHmac('sha256', signingSecret).update(`v0:${timestamp}:`).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(hex, 'hex'));
}

/**
 * Twilio's signature: HMAC-SHA1 in base64 over the whole URL and every form field, name and value without separators,
 * in the order of the names. Fields that are split differently have the same signature, so the id that identifies a
 * repeat must be the signed id.
 */
export function isTwilioSigned(
  addresses: readonly string[],
  form: URLSearchParams,
  signature: string | undefined,
  authToken: string,
): boolean {
  if (signature === undefined) return false;
  const given = Buffer.from(signature, 'base64');
  const content = signedFields(form);
  if (hidesMessageId(form, content)) return false;
  let matches = false;
  // Some Twilio products omit the default port and others include it.
  for (const one of addresses.flatMap(addressForms)) {
    const expected = createHmac('sha1', authToken)
      .update(one + content)
      .digest();
    if (expected.length === given.length && timingSafeEqual(expected, given)) matches = true;
  }
  return matches;
}

const messageIdFields = ['MessageSid', 'SmsMessageSid', 'SmsSid'];
/** A message id in Twilio's form, after the name of its field. */
const signedMessageId = /(?:MessageSid|SmsSid)([A-Z]{2}[0-9a-f]{32})/g;

function hidesMessageId(form: URLSearchParams, content: string): boolean {
  const ids = [...content.matchAll(signedMessageId)].map(([, id]) => id);
  const given = messageIdFields.map((name) => form.getAll(name).at(-1) ?? '').find((id) => id !== '');
  return ids.length > 0 && !ids.includes(given);
}

function signedFields(form: URLSearchParams): string {
  const fields = new Map<string, Set<string>>();
  for (const [name, value] of form) {
    const values = fields.get(name);
    if (values === undefined) fields.set(name, new Set([value]));
    else values.add(value);
  }
  return [...fields.keys()]
    .toSorted()
    .map((name) =>
      [...(fields.get(name) ?? [])]
        .toSorted()
        .map((value) => name + value)
        .join(''),
    )
    .join('');
}

function addressForms(address: string): readonly string[] {
  const [, scheme, host, rest] = /^(https?):\/\/([^/?#]+)(.*)$/s.exec(address) ?? [];
  if (scheme === undefined || host === undefined || rest === undefined) return [address];
  const usual = scheme === 'https' ? ':443' : ':80';
  if (host.endsWith(usual)) return [address, `${scheme}://${host.slice(0, -usual.length)}${rest}`];
  return /:\d+$/.test(host) ? [address] : [address, `${scheme}://${host}${usual}${rest}`];
}
