import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { isUuid } from '../kernel/uuid.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import { type ChangeFeed, sql, type Store } from '../infra/storage/index.js';
import { agentTopic } from './changes.js';
import { type Snapshot, storedSnapshot } from './snapshot.js';

/** The published version of an agent. */
export interface LiveAgent {
  readonly id: string;
  readonly version: number;
  readonly snapshot: Snapshot;
  /** Turns per minute; null applies only the tenant's limit. */
  readonly rateLimit: number | null;
  /** Ids of the users who may chat; empty means all. */
  readonly allowedUsers: ReadonlySet<string>;
}

const liveRow = z.object({
  id: z.uuid(),
  version: z.number(),
  snapshot: storedSnapshot,
  rate_limit: z.number().nullable(),
  allowed_users: z.array(z.guid()),
});

interface Load {
  readonly agent: Promise<LiveAgent | undefined>;
}

/** Total size of the cached agents, as JSON. */
const keptCharsMax = 64 * 1024 * 1024;

/**
 * Caches the published agents that this node was asked for. The change feed removes outdated entries; while the
 * feed is unavailable, no cached entry is trusted. "Not published" is not cached: it costs one query, and an agent
 * is available at once after publication.
 */
export class LiveAgents {
  readonly #store: Store;
  readonly #feed: ChangeFeed;
  readonly #kept = new LRUCache<string, LiveAgent>({
    maxSize: keptCharsMax,
    sizeCalculation: ({ snapshot }) => JSON.stringify(snapshot).length,
  });
  /** Loads in progress. A change removes the load, so that its result is neither cached nor shared. */
  readonly #loads = new Map<string, Load>();
  readonly #unsubscribe: () => void;

  constructor(store: Store, feed: ChangeFeed) {
    this.#store = store;
    this.#feed = feed;
    this.#unsubscribe = feed.subscribe(agentTopic, {
      onChange: ({ tenantId, subject }) => this.#drop(keyOf(tenantId ?? '', subject)),
      onDropEverything: () => {
        this.#kept.clear();
        this.#loads.clear();
      },
    });
  }

  /**
   * Undefined if the agent is not published or belongs to another tenant. A cached agent is returned synchronously.
   */
  get(scope: TenantScope, id: string): LiveAgent | undefined | Promise<LiveAgent | undefined> {
    if (!isUuid(id)) return undefined;
    if (!this.#feed.isFresh()) return this.#read(scope, id);
    const key = keyOf(scope.tenantId, id);
    return this.#kept.get(key) ?? this.#loads.get(key)?.agent ?? this.#load(scope, id, key);
  }

  stop(): void {
    this.#unsubscribe();
  }

  #load(scope: TenantScope, id: string, key: string): Promise<LiveAgent | undefined> {
    const load: Load = {
      agent: this.#read(scope, id).then(
        (agent) => {
          if (this.#loads.get(key) === load && agent !== undefined) this.#kept.set(key, agent);
          this.#forget(key, load);
          return agent;
        },
        (error: unknown) => {
          this.#forget(key, load);
          throw error;
        },
      ),
    };
    this.#loads.set(key, load);
    return load.agent;
  }

  #forget(key: string, load: Load): void {
    if (this.#loads.get(key) === load) this.#loads.delete(key);
  }

  #drop(key: string): void {
    this.#kept.delete(key);
    this.#loads.delete(key);
  }

  async #read(scope: TenantScope, id: string): Promise<LiveAgent | undefined> {
    const row = await this.#store.inTenant(scope, (tx) =>
      tx.maybeOne(sql.type(liveRow)`
        select a.id, v.version, v.snapshot, a.rate_limit, a.allowed_users::text[]
        from agents a join agent_versions v
          on v.tenant_id = a.tenant_id and v.agent_id = a.id and v.version = a.published_version
        where a.tenant_id = ${scope.tenantId} and a.id = ${id}`),
    );
    if (row === null) return undefined;
    const { version, snapshot, rate_limit: rateLimit } = row;
    return { id: row.id, version, snapshot, rateLimit, allowedUsers: new Set(row.allowed_users) };
  }
}

function keyOf(tenantId: string, id: string): string {
  return `${tenantId} ${id.toLowerCase()}`;
}
