import { createHmac, hkdfSync } from 'node:crypto';

/** Recognises a name that is not stored. Without the master key nobody can find the name by trying names. */
export interface KeyedHash {
  /** The hash under the current master key. */
  of(tenantId: string, name: string): string;
  /** The hashes under the current and the former master keys. */
  all(tenantId: string, name: string): readonly string[];
}

export function createKeyedHash(masterKey: Uint8Array, formerMasterKeys: readonly Uint8Array[]): KeyedHash {
  // A derived key, so that hashes tell nothing about values sealed under the master key.
  const derived = (key: Uint8Array): Buffer =>
    Buffer.from(hkdfSync('sha256', key, new Uint8Array(), 'troupe keyed hash 1', 32));
  const current = derived(masterKey);
  const keys = [current, ...formerMasterKeys.map(derived)];
  const hash = (key: Buffer, tenantId: string, name: string): string =>
    createHmac('sha256', key).update(`${tenantId}\0${name}`).digest('hex');
  return {
    of: (tenantId, name) => hash(current, tenantId, name),
    all: (tenantId, name) => keys.map((key) => hash(key, tenantId, name)),
  };
}
