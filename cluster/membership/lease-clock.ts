import type { Time } from '../time/time.js';

/** One moment on both clocks. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instantOf(time: Time): Instant {
  return { monotonicMs: time.monotonicMs(), wallMs: time.wallMs() };
}

/** By the clock that says that more time has passed: either may stand still or be set back. */
export function ageMs(time: Time, from: Instant): number {
  return Math.max(time.monotonicMs() - from.monotonicMs, time.wallMs() - from.wallMs);
}

/**
 * Age of the right to act, from the start of the step that confirmed it. The larger of the two clocks counts: the
 * monotonic clock stands still while a machine is paused, and the wall clock may be set back. A wall clock that is
 * set forward ends a healthy lease; that costs a restart, where the opposite could cost a second effect.
 */
export class LeaseClock {
  readonly #time: Time;
  #from: Instant | undefined;

  constructor(time: Time) {
    this.#time = time;
  }

  /** Answers may arrive out of order; only a later start extends. */
  extend(from: Instant): void {
    if (this.#from === undefined || from.monotonicMs > this.#from.monotonicMs) this.#from = from;
  }

  ageMs(): number {
    return this.#from === undefined ? Number.POSITIVE_INFINITY : ageMs(this.#time, this.#from);
  }
}
