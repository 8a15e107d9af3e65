import { hash } from 'node:crypto';
import { normalPhone } from './identities.js';

/** A field that a session is derived from, as the sender gave it. */
export interface SessionField {
  readonly name: string;
  readonly value: unknown;
}

/** Fields that hold phone numbers by their name, whoever fills them in. */
export const phoneFields: ReadonlySet<string> = new Set(['phoneNumber', '_waId', 'From']);

/**
 * The session that belongs to an agent and the values of some fields, in their order; undefined where none of them
 * has a value. Streams and webhooks share it, so that one person's session is the same by both ways. What it makes of
 * given values may never change: sessions of customers hang on it.
 */
export function derivedSessionId(agentId: string, fields: readonly SessionField[]): string | undefined {
  const values = fields.map(derivableText);
  if (values.every((value) => value === '')) return undefined;
  // As JSON, so that no two lists of values run together into one text.
  return uuidOf(hash('sha256', JSON.stringify(['session', agentId.toLowerCase(), ...values]), 'hex'));
}

/** A value as it enters the id; a missing one counts as empty. */
export function derivableText({ name, value }: SessionField): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return phoneFields.has(name) ? normalPhone(text) : text;
}

/** The first 16 bytes as a UUID of version 8: made by a rule of one's own (RFC 9562). */
function uuidOf(digest: string): string {
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return (
    `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-` +
    `${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  );
}
