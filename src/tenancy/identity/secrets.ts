import { createHash } from 'node:crypto';

/** The source of random values. They must be unpredictable. */
export interface SecretRandom {
  uuid(): string;
  bytes(count: number): Uint8Array;
}

/** Unguessable, and 32 characters short, so that a join link fits a line of a mail. */
const tokenBytes = 24;

/** The tokens that prove an address or set a password are worth an account: 256 bits. */
const accountTokenBytes = 32;

export function newAccountToken(random: SecretRandom): string {
  return Buffer.from(random.bytes(accountTokenBytes)).toString('base64url');
}

/** Makes a token for one holder; the platform stores only its hash. */
export function newToken(random: SecretRandom): string {
  return Buffer.from(random.bytes(tokenBytes)).toString('base64url');
}

/**
 * Tokens have 192 random bits or more, so a plain hash cannot be reversed and needs no salt and no stretching. Tokens are
 * looked up by their hash: how long a comparison takes says nothing about the token.
 */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
