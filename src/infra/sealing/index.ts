/**
 * Seals small secrets of the platform (signing keys, waiting mails) under the master key before they are stored. A place
 * binds each value to its row, so one row's secret cannot be moved into another row. The sealed form names its key, so
 * values sealed under a former master key can be opened until they are sealed again.
 */
import { hkdfSync } from 'node:crypto';
import { keyIdOf, nonces, SealError, type SealedPlace, SealingKey } from './sealed-format.js';

export { nonces, SealError, SealingKey, type Purpose, type SealedPlace } from './sealed-format.js';

export { createKeyedHash, type KeyedHash } from './keyed-hash.js';

export interface Sealer {
  seal(value: Uint8Array, place: SealedPlace): Buffer;
  /** Throws `SealError` if the value was changed or moved, or if its key is not available. */
  open(sealed: Uint8Array, place: SealedPlace): Buffer;
  /** Whether the value's key is a former one, so that the value should be sealed again. */
  isStale(sealed: Uint8Array): boolean;
  /** The first bytes of every value sealed under the current key; queries use them to find the others. */
  readonly mark: Uint8Array;
}

export function createSealer(options: {
  readonly masterKey: Uint8Array;
  readonly formerMasterKeys?: readonly Uint8Array[];
  readonly random: { bytes(count: number): Uint8Array };
}): Sealer {
  const nextNonce = nonces(options.random);
  // Derived keys, so that values sealed here cannot be confused with keys that the vault wraps under the master key.
  const derived = (masterKey: Uint8Array): SealingKey =>
    new SealingKey(
      Buffer.from(hkdfSync('sha256', masterKey, new Uint8Array(), 'troupe sealing 1', 32)),
      nextNonce,
    );
  const current = derived(options.masterKey);
  const keys = [current, ...(options.formerMasterKeys ?? []).map(derived)];

  return {
    seal: (value, place) => current.seal(value, place),
    open(sealed, place) {
      const id = keyIdOf(sealed);
      const key = keys.find((one) => one.id.equals(id));
      if (key !== undefined) return key.open(sealed, place);
      throw new SealError(`${place.join(' ')} was sealed under a master key that is not available`);
    },
    mark: current.mark,
    isStale: (sealed) => !current.id.equals(keyIdOf(sealed)),
  };
}
