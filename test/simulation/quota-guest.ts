import type { Kind } from '../../cluster/activation/kind.js';
import type { FenceStore } from '../../cluster/fencing/fence.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { processId } from '../../cluster/ids/ids.js';
import type { ClusterNode } from '../../cluster/node/node.js';
import { MemoryFenceStore } from '../../cluster/simulation/fence-store.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';
import type { Transit } from '../../cluster/simulation/member-store.js';
import { sleep } from '../../cluster/time/time.js';
import { countOver, type Quota } from '../../src/tenancy/quota/index.js';
import type {
  QuotaLoad,
  QuotaLoaded,
  QuotaWrite,
  QuotaWritten,
} from '../../src/tenancy/quota/quota-actor.store.js';
import type { QuotaActors } from '../../src/tenancy/quota/quota-host.js';
import type { Guest, GuestNode, GuestWay } from './guest.js';
import { QuotaTables } from './quota-tables.js';
import type { World } from './world.js';

export type QuotaPlant =
  /** Grants from a block before its commit is confirmed. */
  | 'grant_before_commit'
  /** Closes, and counts, a row that is already closed. */
  | 'settled_twice'
  /** Never releases the reservations of a lost process. */
  | 'reserved_for_ever';

type Rows = FenceStore<QuotaLoad, QuotaLoaded, QuotaWrite, QuotaWritten>;

/** The quota of one process. */
export interface QuotaNode {
  readonly host: SimulatedHost;
  readonly quota: Quota;
  readonly transit: Transit;
  readonly isGone: (process: string) => boolean;
  /** Whether it accepts requests. */
  isOpen: boolean;
  /** Calls in progress. */
  calls: number;
}

/** How long a stopping process waits for its calls to end. */
const closingMs = 6_000;
const foreverMs = 2 ** 31;

/** The platform's own quota on every simulated node, over an in-memory version of its rows. */
export class QuotaGuest implements Guest {
  readonly tables: QuotaTables;
  readonly nodes = new Map<SimulatedHost, QuotaNode>();
  storeForgot = false;
  reports = 0;
  readonly #world: World;
  readonly #store: MemoryFenceStore<QuotaLoad, QuotaLoaded, QuotaWrite, QuotaWritten>;
  readonly #plants: ReadonlySet<QuotaPlant>;

  constructor(world: World, plants: readonly QuotaPlant[]) {
    this.#world = world;
    this.#plants = new Set(plants);
    this.tables = new QuotaTables(() => world.time.monotonicMs(), {
      closesTwice: this.#plants.has('settled_twice'),
    });
    this.#store = new MemoryFenceStore(this.tables, world.time, { delayMs: () => 1, fault: () => 'none' });
  }

  copy(): () => void {
    const restores = [this.#store.copy(), this.tables.copy()];
    return () => {
      this.storeForgot = true;
      for (const restore of restores) restore();
    };
  }

  join({ host, faults, transit }: GuestWay): GuestNode {
    const kinds: Kind[] = [];
    let node: ClusterNode | undefined;
    const isGone = (process: string): boolean => node?.surelyGone(processId(process)) ?? false;
    const actors: QuotaActors = {
      register: (kind) => void kinds.push(kind),
      references: (kind) => (group, key) => {
        if (node === undefined) throw new Error('a reference was requested before the node started');
        return node.actor(kind, group, key);
      },
      process: processId(host.name),
      surelyGone: (process) => !this.#plants.has('reserved_for_ever') && isGone(process),
      owns: (slot) => node?.owns(slot) ?? false,
    };
    const client = this.#store.client(faults, host.time);
    const rows = this.#plants.has('grant_before_commit') ? this.#eager(client) : client;
    const quota = countOver({
      rows: this.tables.client(transit),
      time: host.time,
      dailyLimits: true,
      tenantsMax: 100,
      together: {
        actors,
        commits: new GroupCommit(rows, this.#world.config, host.time, this.#world.random),
      },
      report: () => {
        this.reports += 1;
      },
    });
    const quotaNode: QuotaNode = { host, quota, transit, isGone, isOpen: false, calls: 0 };
    this.nodes.set(host, quotaNode);
    return {
      kinds,
      started: (started) => {
        node = started;
        quotaNode.isOpen = true;
      },
      stopping: async (stopping) => {
        quotaNode.isOpen = false;
        await stopping.beginLeave();
        for (let waitedMs = 0; quotaNode.calls > 0 && waitedMs < closingMs; waitedMs += 50) {
          await sleep(host.time, 50);
        }
        await quota.flush();
      },
      stopped: () => quota.stop(),
    };
  }

  /** The reservation time of an attempt. */
  withinMs(deadlineMs: number): number {
    return this.#plants.has('reserved_for_ever') ? foreverMs : deadlineMs;
  }

  #eager(client: Rows): Rows {
    return {
      activate: (request) => client.activate(request),
      write: (batch) => {
        client.write(batch).catch(() => {
          this.reports += 1;
        });
        return Promise.resolve(
          batch.map(({ write }) => ({
            outcome: 'written' as const,
            result: write === undefined ? undefined : this.tables.resultOf(write),
          })),
        );
      },
    };
  }
}
