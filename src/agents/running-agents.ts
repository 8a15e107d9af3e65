import { LRUCache } from 'lru-cache';
import { isUuid } from '../kernel/uuid.js';
import { isReady } from '../kernel/ready.js';
import type { Role } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { Store } from '../infra/storage/index.js';
import { findAgent } from './agents.store.js';
import { seesDrafts } from './author.js';
import type { LiveAgent, LiveAgents } from './live-agents.js';
import { listSchemas } from './schemas/schemas.store.js';
import { type Snapshot, snapshotOf } from './snapshot.js';
import { findVersion } from './versions.store.js';

/** The agent in the form that a turn uses. */
export interface RunnableAgent extends Omit<LiveAgent, 'version'> {
  /** Null for the working copy of a draft. */
  readonly version: number | null;
  /**
   * By schema id: the approved secret destinations, besides those that the secrets themselves allow. Null when all
   * destinations were approved, as in every version.
   */
  readonly approved: ReadonlyMap<string, readonly string[]> | null;
}

const keptCharsMax = 32 * 1024 * 1024;

/** Finds the agent with which a turn starts, and the version with which it continues. */
export class RunningAgents {
  readonly #store: Store;
  readonly #live: LiveAgents;
  /** Versions never change, so they are cached until the space is needed. */
  readonly #versions = new LRUCache<string, Snapshot>({
    maxSize: keptCharsMax,
    sizeCalculation: (snapshot) => JSON.stringify(snapshot).length,
  });

  constructor(store: Store, live: LiveAgents) {
    this.#store = store;
    this.#live = live;
  }

  /**
   * The version of a published agent, or the working copy of a draft, which members do not see. Undefined becomes
   * `agent_not_found`.
   */
  get(
    scope: TenantScope,
    id: string,
    role: Role,
  ): RunnableAgent | undefined | Promise<RunnableAgent | undefined> {
    const live = this.#live.get(scope, id);
    if (isReady(live) && live !== undefined) return runnable(live);
    return this.#later(scope, id, role, live);
  }

  /** The content of a version, regardless of the agent's present state. */
  async version(scope: TenantScope, id: string, version: number): Promise<Snapshot | undefined> {
    if (!isUuid(id)) return undefined;
    const key = `${scope.tenantId} ${id.toLowerCase()} ${version}`;
    const kept = this.#versions.get(key);
    if (kept !== undefined) return kept;
    const row = await this.#store.inTenant(scope, (tx) => findVersion(scope, tx, id, version));
    if (row === null) return undefined;
    this.#versions.set(key, row.snapshot);
    return row.snapshot;
  }

  async #later(
    scope: TenantScope,
    id: string,
    role: Role,
    pending: Promise<LiveAgent | undefined> | undefined,
  ): Promise<RunnableAgent | undefined> {
    const live = await pending;
    if (live !== undefined) return runnable(live);
    if (!seesDrafts(role) || !isUuid(id)) return undefined;
    return this.#store.inTenant(scope, async (tx) => {
      const agent = await findAgent(scope, tx, id, 'working-copy');
      if (agent?.status !== 'draft') return undefined;
      const schemas = await listSchemas(scope, tx, id);
      return {
        id: agent.id,
        version: null,
        snapshot: snapshotOf(agent.document, schemas),
        rateLimit: agent.rate_limit,
        // The users who may chat are set at publication. Before that, every user who sees the draft may chat.
        allowedUsers: new Set<string>(),
        approved: new Map(schemas.map((row) => [row.id, row.approved])),
      };
    });
  }
}

function runnable(live: LiveAgent): RunnableAgent {
  return { ...live, approved: null };
}
