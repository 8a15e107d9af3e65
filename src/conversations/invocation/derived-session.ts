import { hash } from 'node:crypto';
import { normalPhone } from './identities.js';

/** A field that a session is derived from, as the sender gave it. */
export interface SessionField {
  readonly name: string;
  readonly value: unknown;
}

/** Fields that contain phone numbers, whatever sender fills them in. */
export const phoneFields: ReadonlySet<string> = new Set(['phoneNumber', '_waId', 'From']);

/**
 * The session id for an agent and the values of some fields, in their order; undefined if no field has a value.
 * Streams and webhooks share this function, so that one person has the same session by both. Its results must never
 * change: existing sessions of customers depend on them.
 */
export function derivedSessionId(agentId: string, fields: readonly SessionField[]): string | undefined {
  const values = fields.map(derivableText);
  if (values.every((value) => value === '')) return undefined;
  // Encoded as JSON, so that two different lists of values never give the same text.
  return uuidOf(hash('sha256', JSON.stringify(['session', agentId.toLowerCase(), ...values]), 'hex'));
}

/** A value as it enters the id; a missing value counts as empty. */
export function derivableText({ name, value }: SessionField): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return phoneFields.has(name) ? normalPhone(text) : text;
}

/** The first 16 bytes as a UUID of version 8, which allows custom content (RFC 9562). */
function uuidOf(digest: string): string {
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return (
    `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-` +
    `${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  );
}
