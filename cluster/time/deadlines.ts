import type { Time, Timer } from './time.js';

/** Something with an end in time, kept in the list of its bucket so that taking it out costs nothing. */
export interface Deadlined {
  /** By the monotonic clock. */
  readonly deadlineAtMs: number;
  /** Links of the bucket's list, kept by `Deadlines` alone. */
  deadlineNext: Deadlined | undefined;
  deadlinePrevious: Deadlined | undefined;
  onDeadline(): void;
}

/**
 * A timing wheel for the deadlines of calls: one timer for all of them. A timer of the platform for each
 * call costs more than the call. Deadlines fire up to one tick late, never early.
 */
const tickMs = 16;
const buckets = 1_024;
/**
 * The timer is never armed further ahead, and never taken back when the last deadline is met: calls that
 * follow each other would else set and clear a timer each.
 */
const aheadTicks = 64;

class Head implements Deadlined {
  readonly deadlineAtMs = Number.POSITIVE_INFINITY;
  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;
  onDeadline(): void {}
}

export class Deadlines {
  readonly #time: Time;
  readonly #wheel: readonly Head[] = Array.from({ length: buckets }, () => new Head());
  #count = 0;
  /** The last tick whose bucket was emptied. */
  #done: number;
  #timer: Timer | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(time: Time) {
    this.#time = time;
    this.#done = Math.floor(time.monotonicMs() / tickMs);
  }

  get size(): number {
    return this.#count;
  }

  add(entry: Deadlined): void {
    // A passed deadline still goes through the wheel: its owner is never called back from within `add`.
    const tick = Math.max(this.#done + 1, Math.ceil(entry.deadlineAtMs / tickMs));
    const head = this.#head(tick);
    entry.deadlineNext = head.deadlineNext;
    entry.deadlinePrevious = head;
    if (head.deadlineNext !== undefined) head.deadlineNext.deadlinePrevious = entry;
    head.deadlineNext = entry;
    this.#count += 1;
    this.#arm(tick);
  }

  remove(entry: Deadlined): void {
    const previous = entry.deadlinePrevious;
    if (previous === undefined) return;
    previous.deadlineNext = entry.deadlineNext;
    if (entry.deadlineNext !== undefined) entry.deadlineNext.deadlinePrevious = previous;
    entry.deadlineNext = undefined;
    entry.deadlinePrevious = undefined;
    this.#count -= 1;
  }

  #head(tick: number): Head {
    const head = this.#wheel[tick % buckets];
    if (head === undefined) throw new Error('a bucket of the wheel is missing');
    return head;
  }

  #arm(wanted: number): void {
    if (wanted >= this.#armedFor) return;
    const nowMs = this.#time.monotonicMs();
    const tick = Math.min(wanted, Math.ceil(nowMs / tickMs) + aheadTicks);
    if (tick >= this.#armedFor) return;
    this.#timer?.cancel();
    this.#armedFor = tick;
    const delayMs = Math.max(0, tick * tickMs - nowMs);
    this.#timer = this.#time.after(delayMs, () => this.#advance());
  }

  #advance(): void {
    this.#timer = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = this.#time.monotonicMs();
    // Timers of the platform may fire a fraction of a millisecond early.
    const until = Math.floor((now + 1) / tickMs);
    const due: Deadlined[] = [];
    const last = Math.min(until, this.#done + buckets);
    for (let tick = this.#done + 1; tick <= last; tick += 1) {
      for (let entry = this.#head(tick).deadlineNext; entry !== undefined; entry = entry.deadlineNext) {
        if (entry.deadlineAtMs <= now + 1) due.push(entry);
      }
    }
    this.#done = Math.max(this.#done, until);
    for (const entry of due) {
      // An earlier one may have ended this one too.
      if (entry.deadlinePrevious === undefined) continue;
      this.remove(entry);
      entry.onDeadline();
    }
    if (this.#count > 0) this.#arm(this.#nextTick());
  }

  #nextTick(): number {
    for (let tick = this.#done + 1; tick <= this.#done + aheadTicks; tick += 1) {
      if (this.#head(tick).deadlineNext !== undefined) return tick;
    }
    return this.#done + aheadTicks;
  }
}
