/** A body as it went over the wire. Parsing and writing it again changes bytes, and then no signature fits. */
export type RawBody = string | Uint8Array;

/** Headers of any runtime: `Headers`, Node's record, or pairs. */
export type HeadersLike =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

export interface VerifyOptions {
  /** The `webhook_secret` of the trigger. Two while it is being replaced. */
  readonly secret: string | readonly string[];
  readonly body: RawBody;
  readonly headers: HeadersLike;
  /** The tolerated age, and difference of clocks. Default 300 s. */
  readonly toleranceSeconds?: number;
  readonly nowMs?: number;
}

export interface SignOptions {
  readonly secret: string;
  readonly body: RawBody;
  /** Default: now. */
  readonly timestampSeconds?: number;
  readonly algorithm?: 'sha256' | 'sha512';
}

/** The request is not from the platform, or is too old. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

const toleranceSecondsDefault = 300;

/**
 * Checks a callback of the platform (Standard Webhooks) and returns its JSON. Use `webhook-id` to run each only once: a
 * callback whose answer was lost comes again.
 */
export async function verify<Payload = unknown>(options: VerifyOptions): Promise<Payload> {
  const { headers, toleranceSeconds = toleranceSecondsDefault, nowMs = Date.now() } = options;
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || signatures === undefined) {
    throw new WebhookVerificationError('webhook-id, webhook-timestamp or webhook-signature is missing.');
  }
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('webhook-timestamp is too old, too new, or no time.');
  }
  const body = bytesOf(options.body);
  const signed = joined(bytesOf(`${id}.${timestamp}.`), body);
  const given = signatures
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => base64(one.slice('v1,'.length)));
  const secrets = typeof options.secret === 'string' ? [options.secret] : options.secret;
  let isSigned = false;
  for (const secret of secrets) {
    const key = await keyOf(standardSecret(secret), 'SHA-256', 'verify');
    // `verify` of the platform's cryptography compares in constant time.
    for (const signature of given)
      if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed)))
        isSigned = true;
  }
  if (!isSigned)
    throw new WebhookVerificationError('No signature fits. Check the secret, and pass the raw body.');
  const text = new TextDecoder().decode(body);
  return (text === '' ? undefined : JSON.parse(text)) as Payload;
}

/** The headers that sign a request to a webhook trigger with `auth.type` `signature`. */
export async function sign(options: SignOptions): Promise<Readonly<Record<string, string>>> {
  const { secret, algorithm = 'sha256' } = options;
  const timestamp = String(options.timestampSeconds ?? Math.floor(Date.now() / 1_000));
  const key = await keyOf(bytesOf(secret), algorithm === 'sha256' ? 'SHA-256' : 'SHA-512', 'sign');
  const content = joined(bytesOf(`${timestamp}.`), bytesOf(options.body));
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, content));
  return {
    'X-Webhook-Timestamp': timestamp,
    'X-Webhook-Signature': `${algorithm}=${[...mac].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  };
}

type Bytes = Uint8Array<ArrayBuffer>;

function keyOf(secret: Bytes, hash: string, usage: 'sign' | 'verify'): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash }, false, [usage]);
}

/** Standard Webhooks: `whsec_` and base64. */
function standardSecret(secret: string): Bytes {
  const bytes = base64(secret.replace(/^whsec_/, ''));
  if (bytes === undefined || bytes.length === 0) {
    throw new TypeError('secret is no webhook_secret of a trigger: whsec_ and base64 are expected.');
  }
  return bytes;
}

function base64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    // No base64, so it fits nothing.
    return undefined;
  }
}

function bytesOf(body: RawBody): Bytes {
  return typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
}

function joined(first: Bytes, second: Bytes): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function headerOf(headers: HeadersLike, name: string): string | undefined {
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  for (const [given, value] of entries as Iterable<
    readonly [string, string | readonly string[] | undefined]
  >) {
    if (given.toLowerCase() === name) return typeof value === 'string' ? value : value?.[0];
  }
  return undefined;
}
