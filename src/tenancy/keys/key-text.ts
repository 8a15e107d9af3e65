import { hash } from 'node:crypto';
import type { Random } from '../../../cluster/index.js';

export const keyPrefixes = ['svc_live_', 'svc_test_', 'svc_dev_'] as const;
export type KeyPrefix = (typeof keyPrefixes)[number];

/** 160 bits, as hexadecimal digits. With its prefix a key then fits one block of SHA-256. */
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

/** Whether it could be a key at all; what could not is refused without a look-up. */
export function isWellFormed(apiKey: string): boolean {
  return wellFormed.test(apiKey);
}

/**
 * A key has 160 random bits, so a plain fast hash is enough: nobody can try them all. Look-ups go by the hash, so how
 * long they take tells nothing about the key.
 */
export function hashOf(apiKey: string): string {
  return hash('sha256', apiKey, 'hex');
}
