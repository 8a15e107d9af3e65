import type { Time } from './time.js';

/**
 * The monotonic clock in whole milliseconds, read once per turn of the event loop. It is for per-message
 * measurements, where reading the real clock would cost a considerable part of handling a message.
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
