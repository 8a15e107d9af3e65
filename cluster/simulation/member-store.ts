import { clusterSettings } from '../config.js';
import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type {
  Departed,
  Lease,
  MemberStore,
  NewestGeneration,
  Publication,
  RemovalOutcome,
  RemovalRequest,
  Renewal,
  Snapshot,
  StoredLease,
  ViewNumbers,
} from '../membership/member-store.js';
import type { View } from '../membership/membership.js';
import { StoreClock } from '../membership/store-clock.js';
import { sameView } from '../membership/view.js';
import type { Random, Time } from '../time/time.js';

/** Carries a step to the store and its answer back: at once, late, or never. */
export type Transit = <Result>(step: () => Result) => Promise<Result>;

const lateMaxMs = clusterSettings.memberStoreTimeoutMs.value;

const atOnce: Transit = (step) => Promise.resolve().then(step);

interface Entry {
  lease: StoredLease;
  renewedMs: number;
  votes: Map<ProcessId, number>;
}

/** The store in memory: the state that Redis holds, with the same atomic steps. */
export class MemoryMembers {
  readonly #time: Time;
  readonly #random: Random;
  readonly #listeners = new Set<() => void>();
  readonly #acceptsLate: boolean;
  #generation: string;
  #generationMadeMs: number;
  #entries = new Map<ProcessId, Entry>();
  #departed = new Map<ProcessId, Departed>();
  #view: View | undefined;
  /** How far its clock was set. */
  #clockOffsetMs = 0;

  /** `acceptsLate` plants a bug. */
  constructor(time: Time, random: Random, acceptsLate = false) {
    this.#time = time;
    this.#random = random;
    this.#acceptsLate = acceptsLate;
    this.#generation = random.id();
    this.#generationMadeMs = time.monotonicMs();
  }

  /** The store as one process sees it, by that process's clock. */
  client(transit: Transit = atOnce, time = this.#time): MemberStore {
    const listeners = new Set<() => void>();
    const clock = new StoreClock(time);
    const timed = async <Result>(step: () => Result): Promise<Result> => {
      const { result, storeMs } = await transit(() => ({
        result: step(),
        storeMs: this.#nowMs(),
      }));
      clock.saw(storeMs);
      return result;
    };
    return {
      renew: async (lease, known, replaced) => {
        if (!clock.isSet) await timed(() => undefined);
        const sentMs = clock.nowMs();
        return timed(() => {
          if (replaced === this.#generation && !this.#isLate(sentMs)) this.#newGeneration();
          return this.#renew(lease, known, sentMs);
        });
      },
      snapshot: () => timed(() => this.#snapshot()),
      publish: async (view, publication) => {
        if (!clock.isSet) await timed(() => undefined);
        const sentMs = clock.nowMs();
        return timed(() => !this.#isLate(sentMs) && this.#publish(view, publication));
      },
      remove: async (request) => {
        if (!clock.isSet) await timed(() => undefined);
        const sentMs = clock.nowMs();
        return timed(() => (this.#isLate(sentMs) ? { outcome: 'late', silentMs: 0 } : this.#remove(request)));
      },
      release: (departed) =>
        transit(() => {
          this.#departed.set(departed.process, departed);
          this.takeAway(departed.process);
        }),
      onChange: (listener) => {
        // Hints travel like answers, and may be lost.
        const onHint = (): void => {
          transit(() => undefined).then(listener, () => undefined);
        };
        listeners.add(onHint);
        this.#listeners.add(onHint);
        return () => {
          listeners.delete(onHint);
          this.#listeners.delete(onHint);
        };
      },
      reconnect: () => {},
      close: () => {
        for (const listener of listeners) this.#listeners.delete(listener);
        return Promise.resolve();
      },
    };
  }

  /** Removes a lease without a departure record, as peers do. */
  takeAway(process: ProcessId): void {
    this.#entries.delete(process);
    this.#hint();
  }

  /** What it holds, for tests of what processes tell each other through it. */
  copyOfLeases(): readonly StoredLease[] {
    return [...this.#entries.values()].map(({ lease }) => lease);
  }

  departures(): readonly Departed[] {
    return [...this.#departed.values()];
  }

  /** Loses everything, including the mark. */
  flush(): void {
    this.#newGeneration();
    this.#entries = new Map();
    this.#departed = new Map();
    this.#view = undefined;
  }

  /** A replica that is promoted with all data, while this store lives on as the old master. */
  promoted(): MemoryMembers {
    const replica = new MemoryMembers(this.#time, this.#random, this.#acceptsLate);
    replica.#view = this.#view;
    replica.#departed = new Map(this.#departed);
    replica.#entries = new Map(
      [...this.#entries].map(([process, entry]) => [process, { ...entry, votes: new Map() }]),
    );
    return replica;
  }

  /** The state that a lagging replica would hold; calling the result fails over to it. */
  copy(): () => void {
    const view = this.#view;
    const departed = [...this.#departed];
    const entries = [...this.#entries].map(
      ([process, entry]) => [process, { ...entry, votes: new Map() }] as const,
    );
    return () => {
      this.#newGeneration();
      this.#view = view;
      this.#entries = new Map(entries);
      this.#departed = new Map(departed);
    };
  }

  #newGeneration(): void {
    this.#generation = this.#random.id();
    this.#generationMadeMs = this.#time.monotonicMs();
  }

  #hint(): void {
    for (const listener of this.#listeners) listener();
  }

  #snapshot(): Snapshot {
    return {
      generation: this.#generation,
      generationAgeMs: this.#time.monotonicMs() - this.#generationMadeMs,
      leases: [...this.#entries.values()].map((entry) => entry.lease),
      departed: [...this.#departed.values()],
      view: this.#view,
    };
  }

  /** The wall clock of its machine is set. */
  setClock(offsetMs: number): void {
    this.#clockOffsetMs = offsetMs;
  }

  #nowMs(): number {
    return this.#time.monotonicMs() + this.#clockOffsetMs;
  }

  #isLate(sentMs: number): boolean {
    return !this.#acceptsLate && this.#nowMs() - sentMs > lateMaxMs;
  }

  #renew(content: Lease, knownGeneration: string | undefined, sentMs: number): Renewal {
    if (this.#isLate(sentMs)) return { renewed: false, late: true, ...this.#snapshot() };
    const lease = { ...content, lateMs: this.#acceptsLate ? 0 : Math.max(0, this.#nowMs() - sentMs) };
    const entry = this.#entries.get(lease.member.process);
    const mayCreate = knownGeneration !== this.#generation && !this.#departed.has(lease.member.process);
    const renewed = entry !== undefined || mayCreate;
    if (renewed && (entry === undefined || lease.renewals >= entry.lease.renewals)) {
      this.#entries.set(lease.member.process, {
        lease,
        renewedMs: this.#time.monotonicMs(),
        votes: new Map(),
      });
      if (entry === undefined || entry.lease.leaving !== lease.leaving) this.#hint();
    }
    return { renewed, late: false, ...this.#snapshot() };
  }

  #publish(view: View, { generation, follows }: Publication): boolean {
    if (generation !== this.#generation) return false;
    const current = this.#view;
    const fits =
      follows === undefined || follows.number === 0
        ? current === undefined || (follows === undefined && current.number < view.number)
        : current !== undefined && sameView(current, follows);
    if (!fits) return false;
    this.#view = view;
    this.#hint();
    return true;
  }

  #remove(request: RemovalRequest): RemovalOutcome {
    const entry = this.#entries.get(request.process);
    if (request.generation !== this.#generation || entry === undefined)
      return { outcome: 'refuted', silentMs: 0 };
    const nowMs = this.#time.monotonicMs();
    const silentMs = nowMs - entry.renewedMs;
    if (entry.lease.renewals !== request.renewals) return { outcome: 'refuted', silentMs };
    entry.votes.set(request.voter, nowMs);
    const votes = [...entry.votes.values()].filter((votedMs) => nowMs - votedMs <= request.voteMs).length;
    if (votes < request.votesNeeded) return { outcome: 'more_votes', silentMs };
    if (silentMs < request.silenceMs) return { outcome: 'too_early', silentMs };
    this.#entries.delete(request.process);
    this.#hint();
    return { outcome: 'removed', silentMs };
  }
}

/** The store as a process sees it that may be led to another server between two steps. Hints come from the first. */
export function changingStore(
  current: () => MemoryMembers,
  open: (members: MemoryMembers) => MemberStore,
): MemberStore {
  const opened = new Map<MemoryMembers, MemberStore>();
  const now = (): MemberStore => {
    const members = current();
    const known = opened.get(members) ?? open(members);
    opened.set(members, known);
    return known;
  };
  return {
    renew: (lease, known, replaced) => now().renew(lease, known, replaced),
    snapshot: () => now().snapshot(),
    publish: (view, publication) => now().publish(view, publication),
    remove: (request) => now().remove(request),
    release: (departed) => now().release(departed),
    onChange: (listener) => now().onChange(listener),
    reconnect: () => now().reconnect(),
    close: async () => {
      for (const store of opened.values()) await store.close();
    },
  };
}

/** View numbers and generations in memory, in place of PostgreSQL. */
export class MemoryNumbers {
  #last = 0;
  #seized = 0;
  #generations: readonly string[] = [];
  #usedMs = 0;
  readonly #time: Time;

  constructor(time: Time) {
    this.#time = time;
  }

  /** The state that a lagging replica would hold: after a failover to it, numbers are issued again. */
  copy(): () => void {
    const [last, seized, generations] = [this.#last, this.#seized, this.#generations];
    return () => {
      this.#generations = generations;
      this.#last = last;
      this.#seized = seized;
    };
  }

  client(transit: Transit = atOnce): ViewNumbers {
    return {
      next: (atLeast) => transit(() => this.#next(atLeast)),
      seize: (atLeast) =>
        transit(() => {
          const number = this.#next(atLeast);
          this.#seized = number;
          return number;
        }),
      seized: () => transit(() => viewNumber(this.#seized)),
      newestGeneration: (used) => transit(() => this.#newestGeneration(used)),
      nameGeneration: (generation) =>
        transit(() => {
          if (!this.#generations.includes(generation)) this.#generations = [...this.#generations, generation];
          return this.#newestGeneration(generation);
        }),
    };
  }

  #newestGeneration(used: string | undefined): NewestGeneration | undefined {
    const generation = this.#generations.at(-1);
    if (generation === undefined) return undefined;
    if (used === generation) this.#usedMs = this.#time.monotonicMs();
    return { generation, unusedMs: this.#time.monotonicMs() - this.#usedMs };
  }

  #next(atLeast: ViewNumber): ViewNumber {
    this.#last = Math.max(this.#last, atLeast) + 1;
    return viewNumber(this.#last);
  }
}
