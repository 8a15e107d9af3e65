import { LRUCache } from 'lru-cache';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { ChangeFeed, HotReads } from '../../infra/storage/index.js';
import { readDenied, readDeniedKeys } from './denylist.store.js';

/** Which tenant's list changed; not who is on it, since every node reads the feed. */
export const denylistTopic = 'denylist';

type Kept = ReadonlySet<string> | 'too-many';

/** Of all kept lists. */
const keptKeysInAllMax = 1_000_000;

/**
 * Whom tenants have denied, for the question that every turn and every message asks. A tenant's list is kept whole
 * once somebody asked for it, so that also the usual answer, no, costs no query. The feed of changes drops what is
 * outdated; while the feed is away nothing that is kept is believed.
 */
export class Denylist {
  readonly #reads: HotReads;
  readonly #feed: ChangeFeed;
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: keptKeysInAllMax,
    sizeCalculation: (kept) => (kept === 'too-many' ? 1 : kept.size + 1),
  });
  /** What is being loaded. A change takes its load out, so that what comes of it is neither kept nor joined. */
  readonly #loads = new Map<string, Promise<Kept>>();
  readonly #unsubscribe: () => void;

  constructor(reads: HotReads, feed: ChangeFeed) {
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
    if (!this.#feed.isFresh()) return readDenied(this.#reads, scope, consumerKey);
    const kept = this.#kept.get(scope.tenantId);
    if (kept instanceof Set) return kept.has(consumerKey);
    if (kept === 'too-many') return readDenied(this.#reads, scope, consumerKey);
    return this.#answerFrom(this.#loads.get(scope.tenantId) ?? this.#load(scope), scope, consumerKey);
  }

  stop(): void {
    this.#unsubscribe();
  }

  async #answerFrom(load: Promise<Kept>, scope: TenantScope, consumerKey: string): Promise<boolean> {
    const keys = await load;
    return keys === 'too-many' ? readDenied(this.#reads, scope, consumerKey) : keys.has(consumerKey);
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
