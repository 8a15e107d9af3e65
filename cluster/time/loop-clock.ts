import type { Time } from './time.js';

/**
 * The monotonic clock in whole milliseconds, read once in each turn of the event loop: for measures of every message,
 * where asking the clock itself, and a fraction in every message, would cost a good part of what the message costs.
 */
export class LoopClock {
  readonly #time: Time;
  #nowMs = 0;
  #isFresh = false;

  constructor(time: Time) {
    this.#time = time;
  }

  nowMs(): number {
    if (!this.#isFresh) {
      this.#nowMs = Math.floor(this.#time.monotonicMs());
      this.#isFresh = true;
      this.#time.soon(() => {
        this.#isFresh = false;
      });
    }
    return this.#nowMs;
  }
}
