import { hash } from 'node:crypto';
import type { Random } from '../../../cluster/index.js';

export const keyPrefixes = ['svc_live_', 'svc_test_', 'svc_dev_'] as const;
export type KeyPrefix = (typeof keyPrefixes)[number];
/** What keys begin with that pages show to everybody. */
export const publicPrefixes = ['pk_live_', 'pk_test_', 'pk_dev_'] as const;
export type PublicPrefix = (typeof publicPrefixes)[number];

/** 160 bits, as hexadecimal digits. With its prefix a key fits one block of SHA-256. */
const digits = 40;
const wellFormed = /^svc_(?:live|test|dev)_[0-9a-f]{40}$/;
const wellFormedPublic = /^pk_(?:live|test|dev)_[0-9a-f]{40}$/;
const suffixDigits = 3;

export interface NewKey {
  readonly apiKey: string;
  readonly hash: string;
  readonly suffix: string;
}

export function makeKey(prefix: KeyPrefix | PublicPrefix, random: Random): NewKey {
  const apiKey = prefix + (random.id() + random.id()).slice(0, digits);
  return { apiKey, hash: hashOf(apiKey), suffix: `...${apiKey.slice(-suffixDigits)}` };
}

/** Whether the text has the form of a key; other text is refused without a lookup. */
export function isWellFormed(apiKey: string): boolean {
  return wellFormed.test(apiKey);
}

export function isWellFormedPublic(apiKey: string): boolean {
  return wellFormedPublic.test(apiKey);
}

/** The table has the prefix of the environment alone; that a key is public, its other columns say. */
export function publicPrefixOf(prefix: KeyPrefix): PublicPrefix {
  return publicPrefixes[keyPrefixes.indexOf(prefix)] ?? 'pk_live_';
}

/**
 * A key has 160 random bits, so a fast hash is enough: they cannot be guessed. Lookups use the hash, so their duration
 * reveals nothing about the key.
 */
export function hashOf(apiKey: string): string {
  return hash('sha256', apiKey, 'hex');
}
