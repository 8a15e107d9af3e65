import { LRUCache } from 'lru-cache';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { ChangeFeed, HotReads } from '../../infra/storage/index.js';
import { readDenied, readDeniedKeys } from './denylist.store.js';

/**
 * The subject is the tenant whose list changed. The keys are not part of the change, because every node reads the
 * feed.
 */
export const denylistTopic = 'denylist';

type Kept = ReadonlySet<string> | 'too-many';

/** In all cached lists together. */
const keptKeysInAllMax = 1_000_000;

/**
 * Caches the denylists for the check that every turn and every message makes. A tenant's list is cached whole on
 * the first check, so that the usual answer, "not denied", costs no query either. The change feed removes outdated
 * lists; while the feed is unavailable, no cached list is trusted.
 */
export class Denylist {
  readonly #reads: HotReads;
  readonly #feed: ChangeFeed;
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: keptKeysInAllMax,
    sizeCalculation: (kept) => (kept === 'too-many' ? 1 : kept.size + 1),
  });
  /** Loads in progress. A change removes the load, so that its result is neither cached nor shared. */
  readonly #loads = new Map<string, Promise<Kept>>();
  readonly #erasedKeys: (scope: TenantScope, key: string) => readonly string[];
  readonly #unsubscribe: () => void;

  constructor(
    reads: HotReads,
    feed: ChangeFeed,
    erasedKeys: (scope: TenantScope, key: string) => readonly string[],
  ) {
    this.#erasedKeys = erasedKeys;
    this.#reads = reads;
    this.#feed = feed;
    this.#unsubscribe = feed.subscribe(denylistTopic, {
      onChange: ({ tenantId }) => {
        this.#kept.delete(tenantId ?? '');
        this.#loads.delete(tenantId ?? '');
      },
      onDropEverything: () => {
        this.#kept.clear();
        this.#loads.clear();
      },
    });
  }

  isDenied(scope: TenantScope, consumerKey: string): Ready<boolean> {
    if (!this.#feed.isFresh()) return this.#read(scope, consumerKey);
    const kept = this.#kept.get(scope.tenantId);
    if (typeof kept === 'object') return this.#isIn(kept, scope, consumerKey);
    if (kept === 'too-many') return this.#read(scope, consumerKey);
    return this.#answerFrom(this.#loads.get(scope.tenantId) ?? this.#load(scope), scope, consumerKey);
  }

  /** An empty list, the usual case, needs no hash. */
  #isIn(keys: ReadonlySet<string>, scope: TenantScope, key: string): boolean {
    if (keys.size === 0) return false;
    return keys.has(key) || this.#erasedKeys(scope, key).some((one) => keys.has(one));
  }

  #read(scope: TenantScope, key: string): Promise<boolean> {
    return readDenied(this.#reads, scope, [key, ...this.#erasedKeys(scope, key)]);
  }

  stop(): void {
    this.#unsubscribe();
  }

  async #answerFrom(load: Promise<Kept>, scope: TenantScope, consumerKey: string): Promise<boolean> {
    const keys = await load;
    return keys === 'too-many' ? this.#read(scope, consumerKey) : this.#isIn(keys, scope, consumerKey);
  }

  #load(scope: TenantScope): Promise<Kept> {
    const { tenantId } = scope;
    const load: Promise<Kept> = readDeniedKeys(this.#reads, scope)
      .then((keys) => {
        const kept = keys ?? 'too-many';
        if (this.#loads.get(tenantId) === load) this.#kept.set(tenantId, kept);
        return kept;
      })
      .finally(() => {
        if (this.#loads.get(tenantId) === load) this.#loads.delete(tenantId);
      });
    this.#loads.set(tenantId, load);
    return load;
  }
}
