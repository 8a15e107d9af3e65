import type { Time, Timer } from '../../../cluster/index.js';

/**
 * Measures the lag of the event loop. Lag means more work than one core can do: the node refuses the newest requests, so
 * that accepted ones can finish. The guard uses the mean of several samples, because a single long pause (a large garbage
 * collection, a suspended machine) is over when it is measured: whatever its length, it counts as one sample of five.
 */
export class OverloadGuard {
  readonly #lateness: number[] = [];
  readonly #time: Time;
  readonly #lagMsMax: number;
  #timer: Timer | undefined;
  #expected = 0;
  #shedding = false;

  /** Refuses nothing with an infinite limit. */
  constructor(lagMsMax: number, time: Time) {
    this.#lagMsMax = lagMsMax;
    this.#time = time;
  }

  start(): void {
    this.#expected = this.#time.monotonicMs() + sampleMs;
    this.#timer = this.#sampled();
  }

  #sampled(): Timer {
    return this.#time.after(sampleMs, () => {
      const at = this.#time.monotonicMs();
      this.record(Math.max(0, at - this.#expected));
      this.#expected = at + sampleMs;
      this.#timer = this.#sampled();
    });
  }

  /** Records one sample of the lag. */
  record(lateMs: number): void {
    // Cap each sample so that one spike cannot trip shedding.
    this.#lateness.push(Math.min(lateMs, 2 * this.#lagMsMax));
    if (this.#lateness.length > samplesMax) this.#lateness.shift();
    this.#shedding = this.lagMs > this.#lagMsMax;
  }

  get lagMs(): number {
    return this.#lateness.reduce((sum, late) => sum + late, 0) / samplesMax;
  }

  get shedding(): boolean {
    return this.#shedding;
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

const sampleMs = 50;
const samplesMax = 5;
