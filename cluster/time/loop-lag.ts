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
/** Old news is dropped at the first reading after so long, so that one bad moment does not stand for ever. */
const windowMs = 60_000;

/** How late the event loop of this process is, measured by the platform outside of it. Does not keep it alive. */
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
