import { createHash } from 'node:crypto';

/** The source of random values. They must be unpredictable. */
export interface SecretRandom {
  uuid(): string;
  bytes(count: number): Uint8Array;
}

/** Unguessable, and 32 characters short, so that a join link fits a line of a mail. */
const tokenBytes = 24;

/** Makes a token for one holder; the platform stores only its hash. */
export function newToken(random: SecretRandom): string {
  return Buffer.from(random.bytes(tokenBytes)).toString('base64url');
}

/** Tokens have 192 random bits, so a plain hash cannot be reversed and needs no salt and no stretching. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
