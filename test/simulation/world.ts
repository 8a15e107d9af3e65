import type { ClusterConfig } from '../../cluster/config.js';
import type {
  CounterLoad,
  CounterResult,
  CounterState,
  CounterWrite,
} from '../../cluster/example/counter.js';
import type { Activated, ActivateRequest, FenceStore } from '../../cluster/fencing/fence.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { addressText, processId } from '../../cluster/ids/ids.js';
import { ClusterMembership } from '../../cluster/membership/cluster-membership.js';
import type { Membership, Member } from '../../cluster/membership/membership.js';
import type { MembershipEvent, MembershipParts } from '../../cluster/membership/perspective.js';
import { ClusterNode } from '../../cluster/node/node.js';
import { DurableTimers } from '../../cluster/recovery/durable-timers.js';
import { Recovery } from '../../cluster/recovery/recovery.js';
import { MemoryFenceStore, type StoreFaults } from '../../cluster/simulation/fence-store.js';
import { SimulatedHost } from '../../cluster/simulation/host.js';
import { MemoryNumbers } from '../../cluster/simulation/member-store.js';
import { SimulatedNetwork } from '../../cluster/simulation/network.js';
import { sharedRings } from '../../cluster/simulation/shared-rings.js';
import { tracedFences } from '../../cluster/trace/traced-fences.js';
import { tracedMembership } from '../../cluster/trace/traced-membership.js';
import { SeededRandom, VirtualTime } from '../../cluster/simulation/virtual-time.js';
import { ledger, ledgerText, worker } from './actors.js';
import { CheckedEffects, CheckedTables } from './checkers.js';
import { DurableRows, type WorkRow } from './durable-rows.js';
import { transitOf } from './transit.js';
import { CheckedOwnership } from './ownership.js';
import { CheckedGrants, grants } from './grants.js';
import type { Guest } from './guest.js';
import { MemberServers, uncompared } from './member-servers.js';
import { Steps } from './steps.js';
import { plantInMembership, type Plant } from './plants.js';
import { Suspensions } from './suspensions.js';
import { CheckedQueues, type TightQueues } from './queues.js';
import type { SimulatedProcess, UnreadStream } from './simulated-process.js';
import { CheckedInstances, visitors } from './volatile-actors.js';
import { worldConfig } from './world-config.js';

export type { SimulatedProcess } from './simulated-process.js';

export const ledgerBound = 12;
export const grantsBound = 6;
const buildRing = sharedRings();

/** A cluster with its stores and network on one virtual clock. Places are fixed; processes start and end in them. */
export class World {
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly network: SimulatedNetwork;
  readonly members: MemberServers;
  readonly numbers = new MemoryNumbers(this.time);
  readonly violations: string[] = [];
  readonly tables = new CheckedTables(this.violations, () => this.time.monotonicMs());
  readonly instances = new CheckedInstances(this.violations);
  readonly grants = new CheckedGrants(this.violations, grantsBound);
  readonly effects: CheckedEffects;
  readonly ownership: CheckedOwnership;
  readonly rows: DurableRows;
  readonly steps = new Steps();
  readonly queues: CheckedQueues;
  readonly store: MemoryFenceStore<CounterLoad, CounterState, CounterWrite, CounterResult>;
  readonly config: ClusterConfig;
  readonly places: (SimulatedProcess | undefined)[];
  /** Places that currently cannot reach the member store or the durable store; -1 means all. */
  readonly membersAway = new Map<number, number>();
  readonly storeAway = new Map<number, number>();
  readonly suspensions: Suspensions;
  /** How long steps from these places to the member store are on their way. */
  readonly membersLateMs = new Map<number, number>();
  /** Delay of statements from these places; the store still runs them. */
  readonly storeDelayMs = new Map<number, number>();
  unknownCommits = 0;
  unseenFailures = 0;
  /** Failed requests of recovery and timers while the store was unreachable; they are retried. */
  sourceFailures = 0;
  /** Receives membership events, for debugging a failing schedule. */
  trace: ((process: string, event: MembershipEvent) => void) | undefined;
  /** The number of draining processes, and when the last drain ended. */
  draining = 0;
  drainedAtMs = 0;
  /** When a member store that no process could use was back. */
  membersBackAtMs = 0;
  /** When a process last started while no other worker was running. */
  aloneSinceMs = 0;
  readonly #plants: ReadonlySet<Plant>;
  readonly #guest: Guest | undefined;
  /** Places from this number on are edge-only. */
  readonly #workers: number;
  readonly #edges = new Set<string>();
  #viewChangedMs = 0;
  #started = 0;
  #restarting = true;

  constructor(
    seed: number,
    workers: number,
    plants: readonly Plant[] = [],
    edges = 0,
    guest?: (world: World) => Guest,
    tight?: TightQueues,
  ) {
    this.#plants = new Set(plants);
    this.random = new SeededRandom(seed);
    this.network = new SimulatedNetwork(this.time, this.random);
    this.members = new MemberServers(this.time, this.random, this.#plants.has('late_steps_count'));
    this.#workers = workers;
    const { config, stated } = worldConfig(this.#plants, tight ?? { bounds: {} });
    this.config = config;
    const now = (): number => this.time.monotonicMs();
    this.queues = new CheckedQueues(stated, tight !== undefined, this.violations, now);
    this.time.afterEach = () => this.queues.afterEvent(() => this.living);
    this.effects = new CheckedEffects(this.violations, now);
    this.suspensions = new Suspensions(now, this.config);
    this.ownership = new CheckedOwnership(this.violations, now, this.config.leaseActMs);
    this.store = new MemoryFenceStore(this.tables, this.time, noFaults, {
      isFenced: !this.#plants.has('no_fence'),
      comparesEpochAlone: this.#plants.has('epoch_alone'),
    });
    this.rows = new DurableRows({
      violations: this.violations,
      now,
      isDone: ({ id, key }) => this.tables.additions.has(`${ledgerText(key)}\0${id}`),
      attemptsMax: this.config.recoveryAttempts,
      storeForgot: () => this.grants.storeForgot,
      countsNothing: this.#plants.has('attempts_uncounted'),
      scansOnce: this.#plants.has('scans_once'),
      firesUnchecked: this.#plants.has('timer_unchecked'),
    });
    this.places = Array.from({ length: workers + edges }, () => undefined);
    this.#guest = guest?.(this);
  }

  /** Stops automatic restarts. */
  stopRestarts(): void {
    this.#restarting = false;
  }

  get living(): SimulatedProcess[] {
    return this.places.filter(
      (one): one is SimulatedProcess => one !== undefined && one.host.state === 'running',
    );
  }

  get livingWorkers(): SimulatedProcess[] {
    return this.living.filter(({ host }) => !this.#edges.has(host.name));
  }

  /** All workers have had the same view for a while. */
  get isStable(): boolean {
    const views = new Set(this.livingWorkers.map(({ membership }) => membership.view().number));
    return views.size === 1 && this.time.monotonicMs() - this.#viewChangedMs > 1_000;
  }

  startAll(): void {
    for (let place = 0; place < this.places.length; place += 1) this.start(place);
  }

  start(place: number): SimulatedProcess {
    if (this.livingWorkers.length === 0) this.aloneSinceMs = this.time.monotonicMs();
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
      repeatsTurns: this.#plants.has('turn_repeated'),
      effect: this.steps.effects(this.effects, host),
      unseen: () => {
        this.unseenFailures += 1;
      },
    };
    const bug = this.#plants.has('stream_ends_early')
      ? 'ends_early'
      : this.#plants.has('stream_repeats')
        ? 'repeats'
        : undefined;
    const kinds = {
      ledger: ledger(parts),
      worker: worker(parts),
      visitors: visitors(this.instances, host.time, bug),
      grants: grants(parts, this.grants, this.#plants.has('grant_before_block')),
    };
    const isEdge = place >= this.#workers;
    if (isEdge) this.#edges.add(host.name);
    const self: Member = {
      process: processId(host.name),
      address: `${host.name}:1`,
      weight: 1,
      roles: isEdge && !this.#plants.has('edge_takes_slots') ? ['edge'] : ['worker', 'edge'],
      host: host.name,
      pid: this.#started,
    };
    const membership = this.#membership(place, host, self);
    const transit = transitOf(
      this,
      host,
      () => !this.isAway(this.storeAway, place),
      () => this.unknownCommits > 0 && this.random.chance(0.5),
    );
    const guest = this.#guest?.join({ host, transit, faults: this.#faultsAt(place) });
    const node = new ClusterNode({
      kinds: [...Object.values(kinds), ...(guest?.kinds ?? [])],
      membership,
      transport: this.network.transport(host, self.address),
      link: { cluster: 'sim', secret: 'sim' },
      config: this.config,
      time: host.time,
      random: this.random,
      buildRing,
      trace: this.steps.of(host),
    });
    const work = this.rows.workSource(host.name, transit, (row) => this.#runWork(row, place, started));
    const failed = (): void => {
      this.sourceFailures += 1;
    };
    const recovery = new Recovery(node, work, this.config, host.time, this.random, failed);
    const timers = new DurableTimers(node, this.rows.timerSource(transit), this.config, host.time, failed);
    const queues = { recovery, timers, commits, streams: new Set<UnreadStream>() };
    const started: SimulatedProcess = { host, node, membership, ...kinds, ...queues, guest };
    this.places[place] = started;
    host.onDeath(() => this.instances.died(host.name));
    membership.onView((view) => this.#onView(view.members));
    membership.onFenced(() => this.#exit(place, host));
    void node
      .listen()
      .then(() => node.start(new AbortController().signal))
      .then(() => {
        recovery.start();
        timers.start();
        guest?.started(node);
      })
      .catch(() => this.#exit(place, host));
    return started;
  }

  /** Kills the process at once; another one takes its place later. */
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
    this.draining += 1;
    const ended = (): void => {
      this.draining -= 1;
      this.drainedAtMs = this.time.monotonicMs();
    };
    process.host.onDeath(ended);
    process.recovery.stop();
    process.timers.stop();
    void (async () => {
      await process.guest?.stopping(process.node);
      await process.node.stop();
      await process.guest?.stopped();
    })().then(() => {
      process.host.kill();
      if (this.places[place] === process) this.restartLater(place);
    });
  }

  /** Removes the lease of a live process, like peers whose connections it refused (protocol 2.4). */
  removeLease(place: number): void {
    const process = this.places[place];
    if (process !== undefined) this.members.current.takeAway(process.membership.self.process);
  }

  /** The durable store fails over to a replica; statements in flight get no answer. */
  failOver(lagMs: number, awayMs: number): void {
    const restores = [this.store, this.tables, this.rows, this.numbers, this.#guest].map((one) =>
      one?.copy(),
    );
    this.time.after(lagMs, () => {
      if (lagMs > 0) {
        for (const restore of restores) restore?.();
        this.effects.forget();
        this.ownership.forget();
        this.grants.storeForgot = true;
      }
      this.storeAway.set(-1, (this.storeAway.get(-1) ?? 0) + 1);
      this.time.after(awayMs, () => this.storeAway.set(-1, (this.storeAway.get(-1) ?? 0) - 1));
    });
  }

  /** Writes work that kills every process that takes it up. */
  poison(): void {
    const [anyWorker] = this.livingWorkers;
    if (anyWorker !== undefined)
      this.rows.writeWork('a', anyWorker.node.slotOf(anyWorker.ledger, 'acme', 'a'), true);
  }

  restartLater(place: number): void {
    this.time.after(this.random.between(500, 3_000), () => {
      if (this.#restarting && (this.places[place]?.host.isDead ?? true)) this.start(place);
    });
  }

  isAway(away: ReadonlyMap<number, number>, place: number): boolean {
    return (away.get(place) ?? 0) > 0 || (away.get(-1) ?? 0) > 0;
  }

  /** A process whose lease was lost exits and is restarted, as by a supervisor. */
  #exit(place: number, host: SimulatedHost): void {
    this.time.after(20, () => {
      if (host.isDead) return;
      host.kill();
      if (this.places[place]?.host === host) this.restartLater(place);
    });
  }

  async #runWork(row: WorkRow, place: number, { node, ledger: kind, host }: SimulatedProcess): Promise<void> {
    if (row.isPoison) {
      if (this.places[place]?.host === host) this.kill(place);
      else host.kill();
      return;
    }
    const options = { requestId: row.id, deadlineMs: 5_000 };
    await node.actor(kind, 'acme', row.key).add({ amount: 1 }, options);
  }

  #onView(members: readonly Member[]): void {
    this.#viewChangedMs = this.time.monotonicMs();
    for (const { process } of members) {
      if (this.#edges.has(process)) this.violations.push(`${process} is edge-only but a member of a view`);
    }
  }

  #membership(place: number, host: SimulatedHost, self: Member): Membership {
    const members = transitOf(
      this,
      host,
      () => !this.isAway(this.membersAway, place),
      undefined,
      () => this.membersLateMs.get(place) ?? 0,
    );
    const numbers = transitOf(this, host, () => !this.isAway(this.storeAway, place));
    const counting = this.numbers.client(numbers);
    const parts: MembershipParts = {
      self,
      store: this.members.client(place, members, host.time),
      numbers: this.#plants.has('outdated_store_counts') ? uncompared(counting, this.time) : counting,
      probe: this.network.probe(host),
      time: host.time,
      random: this.random,
      config: this.config,
      report: (event) => this.trace?.(host.name, event),
    };
    const membership = new ClusterMembership(tracedMembership(parts, this.steps.of(host)));
    plantInMembership(membership, this.#plants, place);
    this.ownership.watch(host, membership);
    return membership;
  }

  #faultsAt(place: number): StoreFaults {
    return {
      delayMs: () => this.network.delayMs() + (this.storeDelayMs.get(place) ?? 0) * this.random.fraction(),
      fault: () => {
        if (this.isAway(this.storeAway, place)) return 'away';
        if (this.unknownCommits === 0 || this.random.chance(0.5)) return 'none';
        return this.random.chance(0.5) ? 'unknown_made' : 'unknown_not_made';
      },
    };
  }

  #storeAt(
    place: number,
    host: SimulatedHost,
  ): FenceStore<CounterLoad, CounterState, CounterWrite, CounterResult> {
    const client = this.store.client(this.#faultsAt(place), host.time);
    const activate = async (request: ActivateRequest<CounterLoad>): Promise<Activated<CounterState>> => {
      const activated = await client.activate(request);
      if (activated.outcome === 'activated') {
        this.tables.raised(addressText(request.address), activated.fence.epoch);
      }
      return activated;
    };
    return tracedFences(
      { activate, write: (batch) => client.write(batch) },
      processId(host.name),
      this.steps.of(host),
    );
  }
}

const noFaults = { delayMs: () => 1, fault: () => 'none' as const };
