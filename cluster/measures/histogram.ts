const shortestMs = 0.25;
/** Upper bounds, doubling up to 17 minutes: longer than the longest turn without a deadline of its own. */
const bounds: readonly number[] = Array.from({ length: 23 }, (_, power) => shortestMs * 2 ** power);
const longestMs = shortestMs * 2 ** (bounds.length - 1);

export interface HistogramReading {
  readonly count: number;
  readonly sumMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Cumulative: each bucket includes the ones before it; `count` above includes durations beyond the last bucket. */
  readonly buckets: readonly { readonly atMostMs: number; readonly count: number }[];
}

/** Durations in doubling buckets. Adding one costs a few additions. */
export class Histogram {
  readonly #counts = new Float64Array(bounds.length + 1);
  #count = 0;
  #sumMs = 0;

  add(durationMs: number): void {
    this.#count += 1;
    this.#sumMs += durationMs;
    const place = placeOf(durationMs);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
  }

  read(): HistogramReading {
    let below = 0;
    const buckets = bounds.map((atMostMs, index) => {
      below += this.#counts[index] ?? 0;
      return { atMostMs, count: below };
    });
    return {
      count: this.#count,
      sumMs: this.#sumMs,
      p50Ms: this.#quantile(0.5),
      p99Ms: this.#quantile(0.99),
      buckets,
    };
  }

  /** Linear interpolation within the bucket; 0 if there are no durations. */
  #quantile(share: number): number {
    const wanted = this.#count * share;
    let below = 0;
    let lower = 0;
    for (const [index, upper] of bounds.entries()) {
      const inside = this.#counts[index] ?? 0;
      if (inside > 0 && below + inside >= wanted)
        return lower + ((wanted - below) / inside) * (upper - lower);
      below += inside;
      lower = upper;
    }
    return this.#count === 0 ? 0 : lower;
  }
}

function placeOf(durationMs: number): number {
  if (durationMs <= shortestMs) return 0;
  if (durationMs > longestMs) return bounds.length;
  return 32 - Math.clz32(Math.ceil(durationMs / shortestMs) - 1);
}
