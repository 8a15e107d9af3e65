import { createHash } from 'node:crypto';

/** Chance, handed in. Both must be beyond guessing. */
export interface SecretRandom {
  uuid(): string;
  bytes(count: number): Uint8Array;
}

/** Beyond guessing, and 32 characters short: a join link with it fits a line of a mail. */
const tokenBytes = 24;

/** A token for one holder; the platform itself keeps only its hash. */
export function newToken(random: SecretRandom): string {
  return Buffer.from(random.bytes(tokenBytes)).toString('base64url');
}

/** Tokens hold 192 random bits, so a plain hash cannot be turned back and needs neither salt nor stretching. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
