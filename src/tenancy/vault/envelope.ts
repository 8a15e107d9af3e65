import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { VaultError } from './vault-error.js';

/**
 * AES-256-GCM bound to a place: a value that was sealed for one place does not open at another, so a row that is copied
 * to another tenant, secret or version is refused.
 *
 * Layout: format (1 byte), nonce (12), tag (16), ciphertext.
 */
const format = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;

/** The parts of a place, outermost first. Their lengths are bound too, so that text cannot move between parts. */
export type Place = readonly [string, ...string[]];

export function seal(key: KeyObject, plain: Uint8Array, place: Place): Buffer {
  // Random nonces: with 2^32 values under one key the probability of a repeat is 2^-33.
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(bytesOf(place));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(format), nonce, cipher.getAuthTag(), sealed]);
}

/** Throws `VaultError` if the bytes were changed, moved, or sealed with another key. */
export function open(key: KeyObject, sealed: Uint8Array, place: Place): Buffer {
  if (sealed.length < headBytes || sealed[0] !== format) {
    throw new VaultError('unreadable', `${place.join(' ')} is not in a known sealed form`);
  }
  const nonce = sealed.subarray(1, 1 + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(bytesOf(place));
  decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes));
  const plain = decipher.update(sealed.subarray(headBytes));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch (cause) {
    throw new VaultError(
      'unreadable',
      `${place.join(' ')} does not open: it was changed or belongs elsewhere`,
      {
        cause,
      },
    );
  } finally {
    plain.fill(0);
  }
}

function bytesOf(place: Place): Buffer {
  return Buffer.from(JSON.stringify(['troupe vault', ...place]));
}
