import type { Transport } from './transport.js';
import { sign } from './webhooks.js';

export interface SendWebhookOptions {
  /** Sent as JSON, unless it is text or bytes. */
  readonly payload: unknown;
  /** The `webhook_secret`, for triggers that ask for a signature. */
  readonly secret?: string | undefined;
  readonly algorithm?: 'sha256' | 'sha512' | undefined;
  readonly contentType?: string | undefined;
  /** The platform runs a repeat with the same key once. Random by default. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The answer as it came: triggers may answer JSON, text or XML. */
export async function sendWebhook(
  transport: Transport,
  triggerId: string,
  options: SendWebhookOptions,
): Promise<Response> {
  const { payload, secret, algorithm, signal } = options;
  const isRaw = typeof payload === 'string' || payload instanceof Uint8Array;
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const body = payload instanceof Uint8Array ? payload : new TextEncoder().encode(text);
  const headers = new Headers({
    'content-type': options.contentType ?? (isRaw ? 'text/plain' : 'application/json'),
    'idempotency-key': options.idempotencyKey ?? transport.surroundings.newId(),
  });
  if (secret !== undefined) {
    const signature = await sign({
      secret,
      body,
      timestampSeconds: Math.floor(transport.surroundings.nowMs() / 1_000),
      ...(algorithm === undefined ? {} : { algorithm }),
    });
    for (const [name, value] of Object.entries(signature)) headers.set(name, value);
  }
  return transport.send({
    method: 'POST',
    path: `/api/triggers/webhook/${encodeURIComponent(triggerId)}`,
    headers,
    body,
    // A trigger takes a key where its `auth.type` says so, and ignores one otherwise.
    accepts: { key: secret === undefined, user: false, operator: false },
    signal,
  });
}
