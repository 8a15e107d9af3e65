/**
 * Watches how late the event loop runs. A late loop means more work than one core can do: the newest requests are
 * refused, so that those already taken are finished. The mean of several samples is judged, because one long pause (a
 * large garbage collection, a machine that stood still) is over by the time it is seen: whatever its length, it counts
 * as one sample among five.
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

  /** Takes one sample of how late the loop was. */
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
/** Half a second behind on average: every caller already waits longer than most set as their limit. */
const lagMsMax = 500;
/** Of one sample no more counts, so that one alone never makes the mean. */
const sampleLateMsMax = 2 * lagMsMax;
