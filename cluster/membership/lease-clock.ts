import type { Time } from '../time/time.js';

/** One moment by both clocks. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instantOf(time: Time): Instant {
  return { monotonicMs: time.monotonicMs(), wallMs: time.wallMs() };
}

/**
 * How old the right to act is, counted from the start of what confirmed it. Of the two clocks the one that
 * says more counts: the monotonic one stands still while a machine is paused, the wall clock may be set back.
 * A wall clock set forward ends a healthy lease; that costs a restart, the opposite could cost a second effect.
 */
export class LeaseClock {
  readonly #time: Time;
  #from: Instant | undefined;

  constructor(time: Time) {
    this.#time = time;
  }

  /** Answers may overtake each other; only a later start extends. */
  extend(from: Instant): void {
    if (this.#from === undefined || from.monotonicMs > this.#from.monotonicMs) this.#from = from;
  }

  ageMs(): number {
    const from = this.#from;
    if (from === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(this.#time.monotonicMs() - from.monotonicMs, this.#time.wallMs() - from.wallMs);
  }
}
