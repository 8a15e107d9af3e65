import { LRUCache } from 'lru-cache';
import type { Ids, SecureRandom } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { SealingKey } from '../../infra/sealing/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import {
  findDataKey,
  holdActiveMasterKey,
  holdCurrentDataKey,
  insertDataKey,
  retireCurrentDataKey,
} from './data-keys.store.js';
import { open, type Place, seal } from './envelope.js';
import { type MasterKey, type MasterKeys } from './master-keys.js';
import { VaultError } from './vault-error.js';

export interface DataKey {
  readonly id: string;
  readonly key: SealingKey;
}

export interface DataKeyParts {
  readonly ids: Ids;
  readonly random: Pick<SecureRandom, 'bytes'>;
  readonly nextNonce: () => Uint8Array;
}

const dataKeyBytes = 32;
/** For recently active tenants; a key takes some hundred bytes. */
const cachedMax = 4_096;
const cachedForMs = 10 * 60_000;

/**
 * The data keys of tenants, unwrapped at their first use. A data key never changes under its id, so a cached one is
 * always correct. Entries expire so that the keys of a tenant that leaves also leave memory.
 */
export class DataKeys {
  readonly #masterKeys: MasterKeys;
  readonly #parts: DataKeyParts;
  readonly #cache = new LRUCache<string, DataKey>({ max: cachedMax, ttl: cachedForMs });
  #drops = 0;

  constructor(masterKeys: MasterKeys, parts: DataKeyParts) {
    this.#masterKeys = masterKeys;
    this.#parts = parts;
  }

  /** Forgets the keys of a tenant, which were destroyed; without an id those of every tenant. */
  drop(tenantId?: string): void {
    this.#drops += 1;
    for (const key of this.#cache.keys()) {
      if (tenantId === undefined || key.startsWith(cacheKey(tenantId, ''))) this.#cache.delete(key);
    }
  }

  /** The key with this id, for opening. */
  async get(scope: TenantScope, tx: TenantTransaction, id: string): Promise<DataKey> {
    const cached = this.#cache.get(cacheKey(scope.tenantId, id));
    if (cached !== undefined) return cached;
    const dropsBefore = this.#drops;
    const row = await findDataKey(scope, tx, id);
    if (row === null) throw new VaultError('unreadable', `The data key ${id} is gone`);
    return this.#unwrapped(scope.tenantId, row, dropsBefore);
  }

  /** The key for sealing. The tenant's first call makes it; concurrent first calls get the same one. */
  async current(scope: TenantScope, tx: TenantTransaction): Promise<DataKey> {
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const dropsBefore = this.#drops;
      const row = await holdCurrentDataKey(scope, tx);
      if (row !== null) return this.#unwrapped(scope.tenantId, row, dropsBefore);
      // No current key yet, or it was retired while this waited for its lock; the next read sees its successor.
      await this.#insert(scope, tx);
    }
    throw new VaultError('unreadable', 'The tenant has no current data key');
  }

  /** Retires the current key and makes a new one. */
  async replace(scope: TenantScope, tx: TenantTransaction): Promise<DataKey> {
    await retireCurrentDataKey(scope, tx);
    return this.current(scope, tx);
  }

  async #insert(scope: TenantScope, tx: TenantTransaction): Promise<void> {
    const active = await holdActiveMasterKey(tx);
    if (active === null)
      throw new VaultError('wrong-master-key', 'The vault has not been prepared: no master key is active');
    const { ids, random } = this.#parts;
    const id = ids.uuid();
    const bytes = random.bytes(dataKeyBytes);
    const wrapped = wrap(this.#masterKeys.get(active), bytes, scope.tenantId, id);
    bytes.fill(0);
    await insertDataKey(scope, tx, { id, wrapped, wrapped_by: active });
  }

  #unwrapped(
    tenantId: string,
    row: { id: string; wrapped: Buffer; wrapped_by: string },
    dropsBefore: number,
  ): DataKey {
    const cached = this.#cache.get(cacheKey(tenantId, row.id));
    if (cached !== undefined) return cached;
    const bytes = unwrap(this.#masterKeys.get(row.wrapped_by), row.wrapped, tenantId, row.id);
    const dataKey = { id: row.id, key: new SealingKey(bytes, this.#parts.nextNonce) };
    bytes.fill(0);
    // The key may have been destroyed since its row was read.
    if (dropsBefore === this.#drops) this.#cache.set(cacheKey(tenantId, row.id), dataKey);
    return dataKey;
  }
}

export function wrap(master: MasterKey, dataKey: Uint8Array, tenantId: string, id: string): Buffer {
  return seal(master.key, dataKey, placeOf(master, tenantId, id));
}

export function unwrap(master: MasterKey, wrapped: Uint8Array, tenantId: string, id: string): Buffer {
  return open(master.key, wrapped, placeOf(master, tenantId, id));
}

function placeOf(master: MasterKey, tenantId: string, id: string): Place {
  return ['data key', tenantId.toLowerCase(), id, 'under', master.id];
}

/** A tenant id may come in either case; the database returns lower case. */
function cacheKey(tenantId: string, id: string): string {
  return `${tenantId.toLowerCase()} ${id}`;
}
