/**
 * Measures the lag of the event loop. Lag means more work than one core can do: the node refuses the newest requests, so
 * that accepted ones can finish. The guard uses the mean of several samples, because a single long pause (a large garbage
 * collection, a suspended machine) is over when it is measured: whatever its length, it counts as one sample of five.
 */
export class OverloadGuard {
  readonly #lateness: number[] = [];
  readonly #timer: NodeJS.Timeout;
  #expected: number;
  #shedding = false;

  constructor(now: () => number = () => performance.now()) {
    this.#expected = now() + sampleMs;
    this.#timer = setInterval(() => {
      const at = now();
      this.record(Math.max(0, at - this.#expected));
      this.#expected = at + sampleMs;
    }, sampleMs);
    this.#timer.unref();
  }

  /** Records one sample of the lag. */
  record(lateMs: number): void {
    this.#lateness.push(Math.min(lateMs, sampleLateMsMax));
    if (this.#lateness.length > samplesMax) this.#lateness.shift();
    this.#shedding = this.lagMs > lagMsMax;
  }

  get lagMs(): number {
    return this.#lateness.reduce((sum, late) => sum + late, 0) / samplesMax;
  }

  get shedding(): boolean {
    return this.#shedding;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

const sampleMs = 50;
const samplesMax = 5;
/** With a mean lag of half a second, every caller already waits longer than most clients set as their limit. */
const lagMsMax = 500;
/** Cap each sample so that one spike cannot trip shedding. */
const sampleLateMsMax = 2 * lagMsMax;
