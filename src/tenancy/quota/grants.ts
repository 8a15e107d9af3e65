import { LRUCache } from 'lru-cache';
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';

/**
 * Counts that must outlast the process, without a write per request.
 *
 * A node takes a block of the count ahead: the store books it as spent and commits, then requests are granted from
 * it in memory. A clean stop gives the rest back. After a crash the rest stays spent, so a count may end a block too
 * early and never too late. Blocks are a small share of what is left, down to one near the limit, so that little is
 * lost and several nodes share the end of a count fairly. When the store does not answer, nothing is granted.
 */
export interface Countable {
  readonly scope: TenantScope;
  /** The day of a tenant's count, or the id of a key. */
  readonly subject: string;
  readonly limit: number;
}

/** Where blocks are booked. */
export interface GrantStore {
  /** Books up to `wanted` below `limit`, commits, and says how many; `granted` is all that was ever booked. */
  take(counted: Countable, wanted: number): Promise<{ readonly block: number; readonly granted: number }>;
  giveBack(scope: TenantScope, subject: string, rest: number): Promise<void>;
}

const blockShare = 50;
const blockMax = 1_000;
/** So long a count known to be used up is not asked for again: another node may have given back some. */
const askAgainMs = 1_000;
const idleMs = 60_000;

class Count {
  readonly scope: TenantScope;
  readonly subject: string;
  left = 0;
  granted = 0;
  /** Requests that wait for a block. */
  waiting = 0;
  taking: Promise<void> | undefined;
  /** Out of the memory of this node; a block that still arrives goes straight back. */
  dropped = false;
  usedUpAtMs = Number.NEGATIVE_INFINITY;
  limitThen = 0;
  touchedAtMs: number;

  constructor(counted: Countable, nowMs: number) {
    this.scope = counted.scope;
    this.subject = counted.subject;
    this.touchedAtMs = nowMs;
  }
}

export type Standing = 'has-room' | 'used-up' | 'unknown';

export class Grants {
  readonly #store: GrantStore;
  readonly #time: Time;
  readonly #counts: LRUCache<string, Count>;
  readonly #report: (attempted: string, error: unknown) => void;
  readonly #givingBack = new Set<Promise<void>>();

  constructor(
    store: GrantStore,
    options: {
      readonly time: Time;
      readonly countsMax: number;
      readonly report: (attempted: string, error: unknown) => void;
    },
  ) {
    this.#store = store;
    this.#time = options.time;
    this.#report = options.report;
    this.#counts = new LRUCache({ max: options.countsMax, dispose: (count) => this.#drop(count) });
  }

  /** Whether one more can be granted now; `unknown` means that `prepare` must be awaited first. */
  standing(counted: Countable): Standing {
    const count = this.#counts.get(nameOf(counted));
    if (count === undefined) return 'unknown';
    const nowMs = this.#time.monotonicMs();
    count.touchedAtMs = nowMs;
    // What was taken under a higher limit no longer counts once the limit was lowered below it.
    if (count.left > 0) return count.granted - count.left < counted.limit ? 'has-room' : 'used-up';
    const known = nowMs - count.usedUpAtMs < askAgainMs && counted.limit <= count.limitThen;
    return known ? 'used-up' : 'unknown';
  }

  /** Grants one; the caller has seen that there is room in this same tick. */
  grant(counted: Countable): void {
    const count = this.#counts.get(nameOf(counted));
    if (count === undefined || count.left < 1) throw new Error('granted without room');
    count.left -= 1;
  }

  /** One that was granted did not begin. */
  takeBack(counted: Countable): void {
    const count = this.#counts.peek(nameOf(counted));
    // Granted by an earlier owner, or before the rest went back: the store has it booked, and only the store.
    if (count === undefined) return this.#giveBackTo(counted.scope, counted.subject, 1);
    count.left += 1;
    count.usedUpAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Out of the memory of this node: the rest is given back, or stays spent where nobody may say so any more. */
  drop(scope: TenantScope, subject: string, rest: 'given back' | 'spent'): void {
    const name = nameOf({ scope, subject });
    const count = this.#counts.peek(name);
    if (count !== undefined && rest === 'spent') count.left = 0;
    this.#counts.delete(name);
  }

  /** How many were granted, as far as this node knows. */
  used(counted: Countable): number {
    const count = this.#counts.peek(nameOf(counted));
    return count === undefined ? 0 : Math.min(counted.limit, count.granted - count.left);
  }

  /** Takes a block; those who ask while one is being taken wait for it. Fails when the store does. */
  async prepare(counted: Countable): Promise<void> {
    const name = nameOf(counted);
    let count = this.#counts.get(name);
    if (count === undefined) this.#counts.set(name, (count = new Count(counted, this.#time.monotonicMs())));
    count.waiting += 1;
    try {
      await (count.taking ??= this.#take(count, counted));
    } finally {
      count.waiting -= 1;
    }
  }

  async #take(count: Count, counted: Countable): Promise<void> {
    try {
      // Asked for in the next tick, when it is known how many wait.
      await Promise.resolve();
      const share = Math.ceil((counted.limit - count.granted) / blockShare);
      const wanted = Math.max(1, count.waiting, Math.min(blockMax, share));
      const { block, granted } = await this.#store.take(counted, wanted);
      count.left += block;
      count.granted = granted;
      if (count.dropped) this.#giveBack(count);
      if (count.left > 0) return;
      count.usedUpAtMs = this.#time.monotonicMs();
      count.limitThen = counted.limit;
    } finally {
      count.taking = undefined;
    }
  }

  /** Gives back the blocks of counts that nobody has asked about for a while. */
  dropIdle(): void {
    const nowMs = this.#time.monotonicMs();
    for (const name of this.#counts.rkeys()) {
      const count = this.#counts.peek(name);
      if (count !== undefined && (nowMs - count.touchedAtMs < idleMs || count.waiting > 0)) return;
      this.#counts.delete(name);
    }
  }

  /** Gives everything back. Nothing may be granted afterwards. */
  async stop(): Promise<void> {
    // A block on its way must arrive first; its failure is told to those who wait for it.
    await Promise.allSettled([...this.#counts.values()].map(async (count) => count.taking));
    this.#counts.clear();
    await Promise.all(this.#givingBack);
  }

  #drop(count: Count): void {
    count.dropped = true;
    this.#giveBack(count);
  }

  #giveBack(count: Count): void {
    const rest = count.left;
    count.left = 0;
    if (rest > 0) this.#giveBackTo(count.scope, count.subject, rest);
  }

  #giveBackTo(scope: TenantScope, subject: string, rest: number): void {
    // Tried once only: if the outcome is unknown, a second time could give back what others have used.
    const done = this.#store
      .giveBack(scope, subject, rest)
      .catch((error: unknown) => this.#report('give back unused grants', error))
      .finally(() => this.#givingBack.delete(done));
    this.#givingBack.add(done);
  }
}

function nameOf({ scope, subject }: Pick<Countable, 'scope' | 'subject'>): string {
  return `${scope.tenantId}/${subject}`;
}
