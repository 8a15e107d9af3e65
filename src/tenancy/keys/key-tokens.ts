import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import type { KeyCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { KnownKeys } from './known-keys.js';

interface NamedKey {
  readonly tenantId: string;
  readonly keyId: string;
}

export interface KeyTokensParts {
  readonly known: Pick<KnownKeys, 'authenticateHash'>;
  readonly findHash: (named: NamedKey) => Promise<string | null>;
  readonly keysMax: number;
}

/**
 * The keys that access tokens act as. A token names its key by id; the cache of keys goes by hash, and a key's hash
 * never changes. Everything else, also whether the key has ended, comes from the cache of keys with each request.
 */
export class KeyTokens {
  readonly #parts: KeyTokensParts;
  readonly #hashes: LRUCache<string, string>;

  constructor(parts: KeyTokensParts) {
    this.#parts = parts;
    this.#hashes = recentEntries(parts.keysMax);
  }

  authenticate(named: NamedKey, address: string): KeyCaller | Promise<KeyCaller> {
    const hash = this.#hashes.get(named.keyId);
    return hash === undefined
      ? this.#find(named, address)
      : this.#parts.known.authenticateHash(hash, address);
  }

  async #find(named: NamedKey, address: string): Promise<KeyCaller> {
    const hash = await this.#parts.findHash(named);
    if (hash === null) throw new PlatformError('invalid_api_key');
    this.#hashes.set(named.keyId, hash);
    return this.#parts.known.authenticateHash(hash, address);
  }
}
