import { createHash } from 'node:crypto';
import type { Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChannelMessage } from './channels.js';

/** By what a message is known when it comes again. */
export interface MessageKey {
  readonly key: string;
  readonly keepMs: number;
  /** Whether the same key with another payload is the sender's mistake. */
  readonly strict: boolean;
}

const hourMs = 3_600_000;
const channelKeepMs = 8 * 24 * hourMs;
export const headerKeepMs = 24 * hourMs;
const keyCharsMax = 255;

/** Undefined where the sender gave nothing to know it by. */
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
  throw new PlatformError('VALIDATION_ERROR', {
    message: `An idempotency key has at most ${keyCharsMax} printable ASCII characters.`,
    details: { field: 'idempotency-key', issue: 'is too long or not printable' },
  });
}

/**
 * Keys for messages that came without one. They grow, so that the index on them is written at one end and not all over;
 * the process's id keeps those of nodes apart.
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
