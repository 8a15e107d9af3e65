import { createHash } from 'node:crypto';
import type { Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChannelMessage } from './channels.js';

/** The key that identifies a repeated message. */
export interface MessageKey {
  readonly key: string;
  readonly keepMs: number;
  /** Whether the same key with another payload is the sender's error. */
  readonly strict: boolean;
}

const hourMs = 3_600_000;
const channelKeepMs = 8 * 24 * hourMs;
export const headerKeepMs = 24 * hourMs;
const keyCharsMax = 255;

/** Undefined if the request holds nothing that identifies a repeat. */
export function messageKeyOf(
  headers: Readonly<Record<string, string>>,
  message: ChannelMessage | undefined,
): MessageKey | undefined {
  if (message !== undefined && message.id !== '') {
    return { key: `channel:${message.id}`, keepMs: channelKeepMs, strict: false };
  }
  const given = headers['idempotency-key'] ?? '';
  if (given !== '') return { key: `key:${bounded(given)}`, keepMs: headerKeepMs, strict: true };
  const id = headers['x-webhook-id'] ?? '';
  return id === '' ? undefined : { key: `id:${bounded(id)}`, keepMs: headerKeepMs, strict: false };
}

function bounded(key: string): string {
  if (key.length <= keyCharsMax && /^[\x20-\x7e]+$/.test(key)) return key;
  throw new PlatformError('validation_error', {
    message: `Idempotency-Key and X-Webhook-Id take at most ${keyCharsMax} printable ASCII characters.`,
    details: { field: 'idempotency-key', issue: 'is too long or not printable' },
  });
}

/**
 * Generates keys for messages without one. They grow, so that inserts go to one end of the index; the process id keeps
 * the keys of nodes distinct.
 */
export function ownKeys(time: Pick<Time, 'wallMs'>, processId: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `message:${time.wallMs().toString(36)}-${processId}-${count.toString(36)}`;
  };
}

export function hashOfPayload(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}
