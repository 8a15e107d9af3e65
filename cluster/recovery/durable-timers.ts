import type { ClusterConfig } from '../config.js';
import type { Slot } from '../ids/ids.js';
import { Histogram } from '../measures/histogram.js';
import { SlotSet } from '../ring/slot-set.js';
import { Heap } from '../time/heap.js';
import type { Time, Timer } from '../time/time.js';
import type { RecoveryNode, SourceFailed } from './recovery.js';

/** A timer as its row defines it; the store's clock computes the due time. */
export interface DueTimer {
  readonly id: string;
  readonly slot: Slot;
  readonly dueInMs: number;
}

export interface TimerSource {
  /**
   * The next timers of these slots that are due within the horizon, the earliest first and at most `limit`, including
   * overdue ones (`dueInMs` of 0 or less).
   */
  upcoming(slots: SlotSet, horizonMs: number, limit: number): Promise<readonly DueTimer[]>;
  /**
   * Fires in one transaction that checks the row again. Returns in how many milliseconds to retry if the timer is not
   * yet due by the store's clock; undefined if it has fired, was moved or is gone.
   */
  fire(id: string): Promise<number | undefined>;
}

export type TimerQuestion = 'upcoming' | 'fire';

interface Entry {
  readonly id: string;
  readonly slot: Slot;
  readonly atMs: number;
}

/**
 * Timers are rows with a slot (protocol 6.4). The slot's owner keeps the timers of the next few minutes in a heap;
 * the actor need not be in memory. The next reading finds a timer that a crash interrupted, and its transaction
 * ensures that it fires once.
 */
export class DurableTimers {
  readonly #node: RecoveryNode;
  readonly #source: TimerSource;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #failed: SourceFailed<TimerQuestion>;
  #heap = newHeap();
  #known = new Map<string, Entry>();
  #timer: Timer | undefined;
  #refresh: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  #stopped = false;
  #firing = 0;
  #reading = false;
  /** The slots changed during a reading, which asked for the earlier ones. */
  #readAgain = false;
  /** The later timers are left in the store, because there are too many. */
  #heldUntilMs = Number.POSITIVE_INFINITY;
  failures = 0;
  fired = 0;
  /** From the due time, as computed at the reading, to the call of `fire`. */
  readonly lateness = new Histogram();

  constructor(
    node: RecoveryNode,
    source: TimerSource,
    config: ClusterConfig,
    time: Time,
    failed: SourceFailed<TimerQuestion>,
  ) {
    this.#node = node;
    this.#source = source;
    this.#config = config;
    this.#time = time;
    this.#failed = failed;
  }

  get waiting(): number {
    return this.#known.size;
  }

  /** Entries in memory, including those of timers that were moved or are gone. */
  get held(): number {
    return this.#heap.size;
  }

  start(): void {
    this.#unsubscribe = this.#node.onRing(() => {
      this.#readAgain = this.#reading;
      void this.#read();
    });
    void this.#read();
    this.#refreshLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#timer?.cancel();
    this.#refresh?.cancel();
  }

  /** A row was just written; saves the wait for the next reading. */
  armed({ id, slot, dueInMs }: DueTimer): void {
    if (dueInMs > this.#config.timerHorizonMs || !this.#node.owns(slot)) return;
    this.#add({ id, slot, atMs: this.#time.monotonicMs() + dueInMs });
    this.#arm();
  }

  /** The row is gone or was moved. A timer that still fires finds nothing to do. */
  disarmed(id: string): void {
    this.#known.delete(id);
  }

  #refreshLater(): void {
    this.#refresh = this.#time.after(this.#config.recoverySweepMs, () => {
      void this.#read();
      this.#refreshLater();
    });
  }

  async #read(): Promise<void> {
    if (this.#reading || this.#stopped) return;
    this.#reading = true;
    try {
      const slots = SlotSet.ownedBy(this.#node.process, this.#node.ring);
      const startedMs = this.#time.monotonicMs();
      const { timerHorizonMs, timersMax } = this.#config;
      const rows = slots.size === 0 ? [] : await this.#source.upcoming(slots, timerHorizonMs, timersMax);
      const last = rows.length < timersMax ? undefined : rows.at(-1);
      this.#heldUntilMs = last === undefined ? Number.POSITIVE_INFINITY : startedMs + last.dueInMs;
      for (const { id, slot, dueInMs } of rows) this.#add({ id, slot, atMs: startedMs + dueInMs });
    } catch (error) {
      // The store is unreachable or the query failed; the next reading follows anyway.
      this.#fail('upcoming', error);
    } finally {
      this.#reading = false;
      this.#arm();
      if (this.#readAgain) {
        this.#readAgain = false;
        void this.#read();
      }
    }
  }

  #add(entry: Entry): void {
    const known = this.#known.get(entry.id);
    // The newest reading counts; an older heap entry is skipped when it comes up.
    if (known !== undefined && Math.abs(known.atMs - entry.atMs) < 1) return;
    if (entry.atMs > this.#heldUntilMs) return;
    this.#known.set(entry.id, entry);
    this.#heap.push(entry);
    const { timersMax } = this.#config;
    if (this.#known.size > timersMax || this.#heap.size > 2 * timersMax) this.#keepNext(timersMax);
  }

  /** Drops the later timers, which stay in the store, and the entries of those that were moved or are gone. */
  #keepNext(timersMax: number): void {
    const entries = [...this.#known.values()].sort((one, other) => one.atMs - other.atMs);
    const isFull = this.#known.size > timersMax;
    const kept = isFull ? entries.slice(0, Math.ceil(timersMax / 2)) : entries;
    if (isFull) this.#heldUntilMs = kept.at(-1)?.atMs ?? this.#heldUntilMs;
    this.#known = new Map(kept.map((entry) => [entry.id, entry]));
    this.#heap = newHeap();
    for (const entry of kept) this.#heap.push(entry);
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const next = this.#heap.peek();
    // The next firing that ends arms again.
    if (next === undefined || this.#stopped || this.#firing >= this.#config.timerConcurrency) return;
    const delayMs = Math.max(0, next.atMs - this.#time.monotonicMs());
    this.#timer = this.#time.after(delayMs, () => this.#due());
  }

  #due(): void {
    const nowMs = this.#time.monotonicMs();
    for (
      let next = this.#heap.peek();
      next !== undefined && next.atMs <= nowMs + 1 && this.#firing < this.#config.timerConcurrency;
      next = this.#heap.peek()
    ) {
      this.#heap.pop();
      if (this.#known.get(next.id) !== next) continue;
      this.#known.delete(next.id);
      if (!this.#node.owns(next.slot) || !this.#node.mayAct()) continue;
      this.lateness.add(Math.max(0, nowMs - next.atMs));
      void this.#fire(next);
    }
    this.#arm();
    const isPartial = this.#heldUntilMs !== Number.POSITIVE_INFINITY;
    if (isPartial && this.#known.size <= this.#config.timersMax / 4) void this.#read();
  }

  async #fire(entry: Entry): Promise<void> {
    this.#firing += 1;
    try {
      const retryInMs = await this.#source.fire(entry.id);
      if (retryInMs === undefined) this.fired += 1;
      else this.armed({ id: entry.id, slot: entry.slot, dueInMs: retryInMs });
    } catch (error) {
      this.#fail('fire', error);
      this.armed({ id: entry.id, slot: entry.slot, dueInMs: this.#config.recoveryRetryMs });
    } finally {
      this.#firing -= 1;
      this.#arm();
    }
  }

  #fail(asked: TimerQuestion, error: unknown): void {
    this.failures += 1;
    this.#failed(asked, error);
  }
}

function newHeap(): Heap<Entry> {
  return new Heap<Entry>((one, other) => one.atMs < other.atMs);
}
