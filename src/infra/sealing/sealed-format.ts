import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject } from 'node:crypto';

/** What is sealed. Each use has a label of its own, so that no value opens as a value of another use. */
export type Purpose =
  | 'attachment'
  | 'cluster secret'
  | 'execution values'
  | 'kept answer'
  | 'mail'
  | 'response'
  | 'signing key'
  | 'trigger message'
  | 'vault';

/** Where a value belongs, outermost first: a value that was copied to another place does not open there. */
export type SealedPlace = readonly [Purpose, ...string[]];

export class SealError extends Error {
  override readonly name = 'SealError';
}

/** The one format of sealed values. Layout: version (1), key id (8), nonce (12), tag (16), ciphertext. */
const version = 2;
const keyIdBytes = 8;
const nonceBytes = 12;
const noncesDrawn = 64;
const tagBytes = 16;
const headerBytes = 1 + keyIdBytes + nonceBytes + tagBytes;

/** The id of the key that a value was sealed with. */
export function keyIdOf(sealed: Uint8Array): Uint8Array {
  if (sealed.length < headerBytes || sealed[0] !== version) throw new SealError('not a sealed value');
  return sealed.subarray(1, 1 + keyIdBytes);
}

/** An AES-256-GCM key of 32 bytes, with the id that its values carry. */
export class SealingKey {
  readonly id: Buffer;
  /** The first bytes of every value sealed with this key. */
  readonly mark: Buffer;
  readonly #key: KeyObject;
  readonly #nextNonce: () => Uint8Array;

  constructor(bytes: Uint8Array, nextNonce: () => Uint8Array) {
    this.#key = createSecretKey(bytes);
    this.#nextNonce = nextNonce;
    this.id = createHash('sha256')
      .update('troupe sealing key id')
      .update(bytes)
      .digest()
      .subarray(0, keyIdBytes);
    this.mark = Buffer.concat([Buffer.of(version), this.id]);
  }

  seal(plain: Uint8Array, place: SealedPlace): Buffer {
    // Random nonces: with 2^32 values under one key the probability of a repeat is 2^-33.
    const nonce = this.#nextNonce();
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(boundTo(place));
    const ciphertext = cipher.update(plain);
    const rest = cipher.final();
    return Buffer.concat([this.mark, nonce, cipher.getAuthTag(), ciphertext, rest]);
  }

  /** Throws `SealError` if the value was changed, moved, or sealed with another key. */
  open(sealed: Uint8Array, place: SealedPlace): Buffer {
    if (!this.id.equals(keyIdOf(sealed))) throw new SealError(`${place.join(' ')} has another key`);
    const nonce = sealed.subarray(1 + keyIdBytes, 1 + keyIdBytes + nonceBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(boundTo(place));
    decipher.setAuthTag(sealed.subarray(headerBytes - tagBytes, headerBytes));
    const plain = decipher.update(sealed.subarray(headerBytes));
    try {
      return Buffer.concat([plain, decipher.final()]);
    } catch (cause) {
      throw new SealError(`${place.join(' ')} does not open: it was changed or belongs elsewhere`, { cause });
    } finally {
      // What was decrypted before the tag was checked; a whole value was copied out of it.
      plain.fill(0);
    }
  }
}

/** Draws many nonces at once and uses each once: a draw costs more than encrypting a short text. */
export function nonces(random: { bytes(count: number): Uint8Array }): () => Uint8Array {
  let drawn = new Uint8Array(0);
  return () => {
    if (drawn.length === 0) drawn = Uint8Array.from(random.bytes(noncesDrawn * nonceBytes));
    const nonce = drawn.subarray(0, nonceBytes);
    drawn = drawn.subarray(nonceBytes);
    return nonce;
  };
}

/** As a list, so that text cannot move between the parts of a place. */
function boundTo(place: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify(place));
}
