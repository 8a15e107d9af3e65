import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';

/**
 * Counts that must outlast the process, without a write per request.
 *
 * A node takes a block of the count in advance: the store records it as spent and commits, then requests are granted
 * from it in memory. A clean stop returns the rest. After a crash the rest stays spent, so a count may end a block too
 * early and never too late. Blocks are a small share of what is left, down to one near the limit, so that little is
 * lost and several nodes share the end of a count fairly. If the store does not answer, nothing is granted.
 */
export interface Countable {
  readonly scope: TenantScope;
  /** The day of a tenant's count, or the id of a key. */
  readonly subject: string;
  readonly limit: number;
}

/** The storage of blocks. */
export interface GrantStore {
  /** Records a block of up to `wanted` below `limit`, commits, and returns its size; `granted` is the total ever recorded. */
  take(counted: Countable, wanted: number): Promise<{ readonly block: number; readonly granted: number }>;
  giveBack(scope: TenantScope, subject: string, rest: number): Promise<void>;
}

const blockShare = 50;
const blockMax = 1_000;
/** A used-up count is not asked for again for this time; another node may have returned some. */
const askAgainMs = 1_000;
const idleMs = 60_000;

class Count {
  readonly scope: TenantScope;
  readonly subject: string;
  left = 0;
  granted = 0;
  /** The number of requests that wait for a block. */
  waiting = 0;
  taking: Promise<void> | undefined;
  /** The count left the memory of this node; a block that still arrives is returned at once. */
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
    this.#counts = recentEntries(options.countsMax, { dispose: (count) => this.#drop(count) });
  }

  /** Whether one more can be granted now; after `unknown`, await `prepare`. */
  standing(counted: Countable): Standing {
    const count = this.#counts.get(nameOf(counted));
    if (count === undefined) return 'unknown';
    const nowMs = this.#time.monotonicMs();
    count.touchedAtMs = nowMs;
    // If the limit was lowered, the part of the block above the new limit no longer counts.
    if (count.left > 0) return count.granted - count.left < counted.limit ? 'has-room' : 'used-up';
    const known = nowMs - count.usedUpAtMs < askAgainMs && counted.limit <= count.limitThen;
    return known ? 'used-up' : 'unknown';
  }

  /** Grants one; the caller has checked the room in this same tick. */
  grant(counted: Countable): void {
    const count = this.#counts.get(nameOf(counted));
    if (count === undefined || count.left < 1) throw new Error('granted without room');
    count.left -= 1;
  }

  /** Takes back a grant whose work did not start. */
  refund(counted: Countable): void {
    const count = this.#counts.peek(nameOf(counted));
    // Granted by an earlier owner, or before the rest was returned: only the store has it recorded.
    if (count === undefined) return this.#giveBackTo(counted.scope, counted.subject, 1);
    count.left += 1;
    count.usedUpAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Removes the count from memory. The rest is returned, or stays spent if this node may no longer write it. */
  drop(scope: TenantScope, subject: string, rest: 'given back' | 'spent'): void {
    const name = nameOf({ scope, subject });
    const count = this.#counts.peek(name);
    if (count !== undefined && rest === 'spent') count.left = 0;
    this.#counts.delete(name);
  }

  /** The number granted, as far as this node knows. */
  used(counted: Countable): number {
    const count = this.#counts.peek(nameOf(counted));
    return count === undefined ? 0 : Math.min(counted.limit, count.granted - count.left);
  }

  /** Takes a block; concurrent callers wait for the same block. Fails if the store does. */
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
      // Asks in the next tick, when the number of waiting requests is known.
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

  /** Returns the blocks of idle counts. */
  dropIdle(): void {
    const nowMs = this.#time.monotonicMs();
    for (const name of this.#counts.rkeys()) {
      const count = this.#counts.peek(name);
      if (count !== undefined && (nowMs - count.touchedAtMs < idleMs || count.waiting > 0)) return;
      this.#counts.delete(name);
    }
  }

  /** Returns everything. Nothing may be granted afterwards. */
  async stop(): Promise<void> {
    // A block in progress must arrive first; its waiting requests receive its failure.
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
    // Tried only once: with an unknown outcome, a second try could return what others have used.
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
