/**
 * Seals small secrets of the platform (signing keys, waiting mails) under the master key before they are stored. A
 * context binds each value to its place, so one row's secret cannot be moved into another row. The sealed form names its
 * key, so values sealed under a former master key can be opened until they are sealed again.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';

export interface Sealer {
  seal(value: Uint8Array, context: string): Buffer;
  /** Throws `SealError` if the value was changed or moved, or if its key is not available. */
  open(sealed: Uint8Array, context: string): Buffer;
  /** Whether the value's key is a former one, so that the value should be sealed again. */
  isStale(sealed: Uint8Array): boolean;
  /** The first bytes of every value sealed under the current key; queries use them to find the others. */
  readonly mark: Uint8Array;
}

export class SealError extends Error {
  override readonly name = 'SealError';
}

interface SealingKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

// Layout: version (1), key id (8), nonce (12), tag (16), ciphertext.
const version = 1;
const keyIdBytes = 8;
const nonceBytes = 12;
const noncesDrawn = 64;
const tagBytes = 16;
const headerBytes = 1 + keyIdBytes + nonceBytes + tagBytes;

export function createSealer(options: {
  readonly masterKey: Uint8Array;
  readonly formerMasterKeys?: readonly Uint8Array[];
  readonly randomBytes: (count: number) => Uint8Array;
}): Sealer {
  const current = sealingKeyOf(options.masterKey);
  const keys = [current, ...(options.formerMasterKeys ?? []).map(sealingKeyOf)];
  const head = Buffer.concat([Buffer.of(version), current.id]);
  const nextNonce = nonces(options.randomBytes);

  return {
    seal(value, context) {
      const nonce = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', current.key, nonce);
      cipher.setAAD(Buffer.from(context));
      const ciphertext = cipher.update(value);
      const rest = cipher.final();
      return Buffer.concat([head, nonce, cipher.getAuthTag(), ciphertext, rest]);
    },
    open(sealed, context) {
      const key = keys.find(({ id }) => id.equals(keyIdOf(sealed)));
      if (key === undefined)
        throw new SealError(`${context} was sealed under a master key that is not available`);
      const nonce = sealed.subarray(1 + keyIdBytes, 1 + keyIdBytes + nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key.key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(headerBytes - tagBytes, headerBytes));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(headerBytes)), decipher.final()]);
      } catch (cause) {
        throw new SealError(`${context} cannot be opened: it was changed or belongs to another place`, {
          cause,
        });
      }
    },
    mark: Buffer.concat([Buffer.of(version), current.id]),
    isStale: (sealed) => !current.id.equals(keyIdOf(sealed)),
  };
}

/** Draws many nonces at once and uses each once: a draw costs more than encrypting a short text. */
function nonces(randomBytes: (count: number) => Uint8Array): () => Uint8Array {
  let drawn = new Uint8Array(0);
  return () => {
    if (drawn.length === 0) drawn = Uint8Array.from(randomBytes(noncesDrawn * nonceBytes));
    const nonce = drawn.subarray(0, nonceBytes);
    drawn = drawn.subarray(nonceBytes);
    return nonce;
  };
}

function sealingKeyOf(masterKey: Uint8Array): SealingKey {
  // A derived key, so that values sealed here cannot be confused with keys that the vault wraps under the master key.
  const key = Buffer.from(hkdfSync('sha256', masterKey, new Uint8Array(), 'troupe sealing 1', 32));
  const id = createHash('sha256')
    .update('troupe sealing key id')
    .update(key)
    .digest()
    .subarray(0, keyIdBytes);
  return { id, key };
}

function keyIdOf(sealed: Uint8Array): Uint8Array {
  if (sealed.length < headerBytes || sealed[0] !== version) throw new SealError('not a sealed value');
  return sealed.subarray(1, 1 + keyIdBytes);
}
