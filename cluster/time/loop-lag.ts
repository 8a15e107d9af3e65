import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';

export interface LoopLagReading {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface LoopLag {
  read(): LoopLagReading;
}

const resolutionMs = 10;
/** The first reading after this time resets the histogram, so that one stall is not reported for ever. */
const windowMs = 60_000;

/** Lag of this process's event loop, measured by Node outside of JavaScript. Does not keep the process alive. */
export class SystemLoopLag implements LoopLag {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  #sinceMs = performance.now();

  constructor() {
    this.#delays.enable();
  }

  read(): LoopLagReading {
    const { count } = this.#delays;
    const lag = (nanoseconds: number): number =>
      count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - resolutionMs);
    const reading = {
      p50Ms: lag(this.#delays.percentile(50)),
      p99Ms: lag(this.#delays.percentile(99)),
      maxMs: lag(this.#delays.max),
    };
    if (performance.now() - this.#sinceMs > windowMs) {
      this.#delays.reset();
      this.#sinceMs = performance.now();
    }
    return reading;
  }

  stop(): void {
    this.#delays.disable();
  }
}
