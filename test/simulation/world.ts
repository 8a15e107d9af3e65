import type { ActorKindOf } from '../../cluster/activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import { ClusterError } from '../../cluster/errors.js';
import type {
  CounterLoad,
  CounterResult,
  CounterService,
  CounterState,
  CounterWrite,
} from '../../cluster/example/counter.js';
import type { Activated, ActivateRequest, FenceStore } from '../../cluster/fencing/fence.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { addressText, processId } from '../../cluster/ids/ids.js';
import { ClusterMembership } from '../../cluster/membership/cluster-membership.js';
import type { Membership, Member } from '../../cluster/membership/membership.js';
import { ClusterNode } from '../../cluster/node/node.js';
import { MemoryFenceStore } from '../../cluster/simulation/fence-store.js';
import { SimulatedHost } from '../../cluster/simulation/host.js';
import { MemoryMembers, MemoryNumbers, type Transit } from '../../cluster/simulation/member-store.js';
import { SimulatedNetwork } from '../../cluster/simulation/network.js';
import { sharedRings } from '../../cluster/simulation/shared-rings.js';
import { SeededRandom, VirtualTime } from '../../cluster/simulation/virtual-time.js';
import { ledger, worker } from './actors.js';
import { CheckedEffects, CheckedTables } from './checkers.js';

/** Bugs that a test plants to see that the checkers find them. */
export type Plant = 'no_fence' | 'lease_taken_early' | 'ack_before_commit';

export interface SimulatedProcess {
  readonly host: SimulatedHost;
  readonly node: ClusterNode;
  readonly membership: Membership;
  readonly ledger: ActorKindOf<CounterService>;
  readonly worker: ActorKindOf<CounterService>;
}

export const ledgerBound = 12;
const buildRing = sharedRings();

/** A cluster with its stores and network, all on one virtual clock. Places stay, processes come and go. */
export class World {
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly network: SimulatedNetwork;
  readonly members: MemoryMembers;
  readonly numbers = new MemoryNumbers();
  readonly violations: string[] = [];
  readonly tables = new CheckedTables(this.violations, () => this.time.monotonicMs());
  readonly effects = new CheckedEffects(this.violations, () => this.time.monotonicMs());
  readonly store: MemoryFenceStore<CounterLoad, CounterState, CounterWrite, CounterResult>;
  readonly config: ClusterConfig;
  readonly places: (SimulatedProcess | undefined)[];
  /** Places, by number, that cannot reach the member store or the durable store now; -1 stands for all. */
  readonly membersAway = new Map<number, number>();
  readonly storeAway = new Map<number, number>();
  /** Statements of these places take so long to reach the store, and are not given up on the way. */
  readonly storeDelayMs = new Map<number, number>();
  unknownCommits = 0;
  unseenFailures = 0;
  readonly #plants: ReadonlySet<Plant>;
  #started = 0;
  #restarting = true;

  constructor(seed: number, places: number, plants: readonly Plant[] = []) {
    this.random = new SeededRandom(seed);
    this.network = new SimulatedNetwork(this.time, this.random);
    this.members = new MemoryMembers(this.time, this.random);
    this.#plants = new Set(plants);
    this.config = clusterConfig({ drainMs: 8_000, callDeadlineMs: 9_000, idleMs: 4_000 });
    this.store = new MemoryFenceStore(this.tables, this.time, noFaults, {
      isFenced: !this.#plants.has('no_fence'),
    });
    this.places = Array.from({ length: places }, () => undefined);
  }

  /** Nothing starts any more by itself. */
  stopRestarts(): void {
    this.#restarting = false;
  }

  get living(): SimulatedProcess[] {
    return this.places.filter(
      (one): one is SimulatedProcess => one !== undefined && one.host.state === 'running',
    );
  }

  startAll(): void {
    for (let place = 0; place < this.places.length; place += 1) this.start(place);
  }

  start(place: number): SimulatedProcess {
    this.#started += 1;
    const host = new SimulatedHost(this.time, `n${place}s${this.#started}`, {
      rate: 0.99 + this.random.fraction() * 0.02,
    });
    const commits = new GroupCommit(this.#storeAt(place, host), this.config, host.time, this.random);
    const parts = {
      commits,
      time: host.time,
      config: this.config,
      bound: ledgerBound,
      ackBeforeCommit: this.#plants.has('ack_before_commit'),
      effect: this.effects.happened.bind(this.effects),
      unseen: () => {
        this.unseenFailures += 1;
      },
    };
    const kinds = { ledger: ledger(parts), worker: worker(parts) };
    const self: Member = {
      process: processId(host.name),
      address: `${host.name}:1`,
      weight: 1,
      roles: ['worker', 'edge'],
      host: host.name,
      pid: this.#started,
    };
    const membership = this.#membership(place, host, self);
    const node = new ClusterNode({
      kinds: [kinds.ledger, kinds.worker],
      membership,
      transport: this.network.transport(host, self.address),
      link: { cluster: 'sim', secret: 'sim' },
      config: this.config,
      time: host.time,
      random: this.random,
      buildRing,
    });
    const started = { host, node, membership, ...kinds };
    this.places[place] = started;
    membership.onFenced(() => this.#exit(place, host));
    void node
      .listen()
      .then(() => node.start(new AbortController().signal))
      .catch(() => this.#exit(place, host));
    return started;
  }

  /** Dead at once; another process takes its place after a while. */
  kill(place: number, options: { readonly vanish?: boolean } = {}): void {
    const process = this.places[place];
    if (process === undefined || process.host.isDead) return;
    if (options.vanish === true) this.network.vanish(process.host.name);
    process.host.kill();
    this.restartLater(place);
  }

  drain(place: number): void {
    const process = this.places[place];
    if (process === undefined || process.host.state !== 'running') return;
    void process.node.stop().then(() => {
      process.host.kill();
      if (this.places[place] === process) this.restartLater(place);
    });
  }

  /** As peers do who were refused by the process's address, though it lives (protocol 2.4). */
  removeLease(place: number): void {
    const process = this.places[place];
    if (process !== undefined) void this.members.client().release(process.membership.self.process);
  }

  restartLater(place: number): void {
    this.time.after(this.random.between(500, 3_000), () => {
      if (this.#restarting && (this.places[place]?.host.isDead ?? true)) this.start(place);
    });
  }

  isAway(away: ReadonlyMap<number, number>, place: number): boolean {
    return (away.get(place) ?? 0) > 0 || (away.get(-1) ?? 0) > 0;
  }

  /** A process whose lease was lost ends, as its supervisor would see to. */
  #exit(place: number, host: SimulatedHost): void {
    this.time.after(20, () => {
      if (host.isDead) return;
      host.kill();
      if (this.places[place]?.host === host) this.restartLater(place);
    });
  }

  #membership(place: number, host: SimulatedHost, self: Member): Membership {
    const members = this.#transit(host, () => !this.isAway(this.membersAway, place));
    const numbers = this.#transit(host, () => !this.isAway(this.storeAway, place));
    const membership = new ClusterMembership({
      self,
      store: this.members.client(members),
      numbers: this.numbers.client(numbers),
      probe: this.network.probe(host),
      time: host.time,
      random: this.random,
      config: this.config,
    });
    if (this.#plants.has('lease_taken_early')) {
      const hasLeft = (process: string): boolean =>
        !membership.view().members.some((member) => member.process === process);
      membership.surelyGone = hasLeft;
      membership.whenSurelyGone = () => Promise.resolve();
    }
    return membership;
  }

  #transit(host: SimulatedHost, reaches: () => boolean): Transit {
    return (step) =>
      new Promise((resolve, reject) => {
        const fail = (): void => {
          this.time.after(this.network.delayMs(), () =>
            host.deliver(() =>
              reject(new ClusterError('membership_unavailable', 'the store does not answer')),
            ),
          );
        };
        this.time.after(this.network.delayMs(), () => {
          if (!reaches()) {
            fail();
            return;
          }
          const value = step();
          this.time.after(this.network.delayMs(), () => {
            if (reaches()) host.deliver(() => resolve(value));
            else fail();
          });
        });
      });
  }

  #storeAt(
    place: number,
    host: SimulatedHost,
  ): FenceStore<CounterLoad, CounterState, CounterWrite, CounterResult> {
    const client = this.store.client(
      {
        delayMs: () => this.network.delayMs() + (this.storeDelayMs.get(place) ?? 0) * this.random.fraction(),
        fault: () => {
          if (this.isAway(this.storeAway, place)) return 'away';
          if (this.unknownCommits === 0 || this.random.chance(0.5)) return 'none';
          return this.random.chance(0.5) ? 'unknown_made' : 'unknown_not_made';
        },
      },
      host.time,
    );
    const activate = async (request: ActivateRequest<CounterLoad>): Promise<Activated<CounterState>> => {
      const activated = await client.activate(request);
      if (activated.outcome === 'activated') {
        this.tables.raised(addressText(request.address), activated.fence.epoch);
      }
      return activated;
    };
    return { activate, write: (batch) => client.write(batch) };
  }
}

const noFaults = { delayMs: () => 1, fault: () => 'none' as const };
