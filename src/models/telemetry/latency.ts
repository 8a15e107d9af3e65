/**
 * Histograms of answer times, as latency_count() of migrations/0110_usage.sql makes them: one number with twelve decimal
 * digits for each bucket.
 */
const perBucket = 1_000_000_000_000n;

/** The upper bound of a bucket in milliseconds. */
function boundOf(bucket: number): number {
  return 2 ** (bucket / 2);
}

function countsOf(histogram: bigint): readonly number[] {
  const counts: number[] = [];
  for (let rest = histogram; rest > 0n; rest /= perBucket) counts.push(Number(rest % perBucket));
  return counts;
}

/** Within its bucket a time is estimated by its rank, so that the error is at most the width of the bucket. */
function quantile(counts: readonly number[], total: number, share: number): number {
  const rank = Math.max(1, Math.ceil(total * share));
  let before = 0;
  for (const [bucket, count] of counts.entries()) {
    if (before + count >= rank) {
      const from = bucket === 0 ? 0 : boundOf(bucket - 1);
      return Math.round((from + ((boundOf(bucket) - from) * (rank - before)) / count) * 100) / 100;
    }
    before += count;
  }
  return 0;
}

export interface Latency {
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
}

/** Zeros without calls. */
export function latencyOf(histogram: bigint): Latency {
  const counts = countsOf(histogram);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const at = (share: number): number => quantile(counts, total, share);
  return { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) };
}
