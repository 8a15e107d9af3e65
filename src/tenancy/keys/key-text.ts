import { hash } from 'node:crypto';
import type { Random } from '../../../cluster/index.js';

export const keyPrefixes = ['svc_live_', 'svc_test_', 'svc_dev_'] as const;
export type KeyPrefix = (typeof keyPrefixes)[number];

/** 160 bits, as hexadecimal digits. With its prefix a key fits one block of SHA-256. */
const digits = 40;
const wellFormed = /^svc_(?:live|test|dev)_[0-9a-f]{40}$/;
const suffixDigits = 3;

export interface NewKey {
  readonly apiKey: string;
  readonly hash: string;
  readonly suffix: string;
}

export function makeKey(prefix: KeyPrefix, random: Random): NewKey {
  const apiKey = prefix + (random.id() + random.id()).slice(0, digits);
  return { apiKey, hash: hashOf(apiKey), suffix: `...${apiKey.slice(-suffixDigits)}` };
}

/** Whether the text has the form of a key; other text is refused without a lookup. */
export function isWellFormed(apiKey: string): boolean {
  return wellFormed.test(apiKey);
}

/**
 * A key has 160 random bits, so a fast hash is enough: they cannot be guessed. Lookups use the hash, so their duration
 * reveals nothing about the key.
 */
export function hashOf(apiKey: string): string {
  return hash('sha256', apiKey, 'hex');
}
