import type { Time, Timer } from './time.js';

/** An entry with a deadline, linked into the list of its bucket so that removal is cheap. */
export interface Deadlined {
  /** By the monotonic clock. */
  readonly deadlineAtMs: number;
  /** List links, written only by `Deadlines`. */
  deadlineNext: Deadlined | undefined;
  deadlinePrevious: Deadlined | undefined;
  onDeadline(): void;
}

/**
 * A timing wheel for the deadlines of calls: one timer for all of them, because a platform timer per call costs more
 * than the call. Deadlines fire up to one tick late, never early.
 */
const tickMs = 16;
const buckets = 1_024;
/**
 * The timer is never armed further ahead, and not cancelled when the last deadline is removed: otherwise each of
 * several consecutive calls would set and clear a timer.
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
  /** The last tick whose bucket was processed. */
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
    // A past deadline also goes through the wheel: `add` never calls its owner back.
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
    // Platform timers may fire a fraction of a millisecond early.
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
      // An earlier entry may have removed this one.
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
