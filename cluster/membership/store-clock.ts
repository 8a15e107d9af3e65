import type { Time } from '../time/time.js';

/**
 * The member store's clock as one connection last saw it. Each step that changes the store carries the store's time at
 * its sending, so that the store can refuse a step that it executes long after its sender gave up (a retransmission, a
 * proxy). The estimate is never above the true time: the answer was on its way for an unknown time.
 */
export class StoreClock {
  readonly #time: Time;
  #seen: { readonly storeMs: number; readonly receivedMs: number } | undefined;

  constructor(time: Time) {
    this.#time = time;
  }

  get isSet(): boolean {
    return this.#seen !== undefined;
  }

  saw(storeMs: number): void {
    this.#seen = { storeMs, receivedMs: this.#time.monotonicMs() };
  }

  /** The store's time now, at the earliest; 0 if it is unknown, which every store refuses as late. */
  nowMs(): number {
    if (this.#seen === undefined) return 0;
    return Math.floor(this.#seen.storeMs + this.#time.monotonicMs() - this.#seen.receivedMs);
  }
}
