import { createHmac } from 'node:crypto';
import { SealingKey } from '../../infra/sealing/index.js';
import { VaultError } from './vault-error.js';

export const masterKeyBytes = 32;

export interface MasterKey {
  /** Its fingerprint. */
  readonly id: string;
  readonly key: SealingKey;
}

/** The configured master keys of this node. */
export class MasterKeys {
  /** The target of a rotation. Until the rotation the database tells which key wraps. */
  readonly wanted: MasterKey;
  readonly #known: ReadonlyMap<string, MasterKey>;

  constructor(wanted: Uint8Array, previous: readonly Uint8Array[], nextNonce: () => Uint8Array) {
    this.wanted = masterKey(wanted, nextNonce);
    const former = previous.map((bytes) => masterKey(bytes, nextNonce));
    this.#known = new Map([...former, this.wanted].map((one) => [one.id, one]));
  }

  knows(id: string): boolean {
    return this.#known.has(id);
  }

  get(id: string): MasterKey {
    const found = this.#known.get(id);
    if (found !== undefined) return found;
    throw new VaultError(
      'wrong-master-key',
      `The vault needs the master key with the fingerprint ${id}, which this node was not started with. Set it as ` +
        'TROUPE_MASTER_KEY, or among TROUPE_MASTER_KEYS_PREVIOUS until `troupe vault rotate` has ended.',
    );
  }
}

/** Distinguishes keys and reveals nothing about them. */
export function fingerprintOf(masterKeyValue: Uint8Array): string {
  return createHmac('sha256', masterKeyValue).update('troupe vault master key').digest('hex').slice(0, 32);
}

function masterKey(bytes: Uint8Array, nextNonce: () => Uint8Array): MasterKey {
  if (bytes.length !== masterKeyBytes) {
    throw new VaultError(
      'wrong-master-key',
      `A master key has ${masterKeyBytes} bytes, not ${bytes.length}.`,
    );
  }
  return { id: fingerprintOf(bytes), key: new SealingKey(bytes, nextNonce) };
}
