// What a benchmark found, for `npm run bench:all`: one line of JSON for each comparison, in the file that BENCH_RESULTS
// names. Without it nothing is written.
import { appendFileSync } from 'node:fs';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Comparison {
  readonly bench: string;
  readonly what: string;
  readonly unit: string;
  /** One value for each round. */
  readonly ours: readonly number[];
  /** What it is compared with, and its values of the same rounds. Without it a row has no ratio. */
  readonly against?: string;
  readonly theirs?: readonly number[];
  /** Whether more is better; a ratio below 1 is then a loss. */
  readonly better: 'more' | 'less';
  readonly ourLatency?: Latency;
  readonly theirLatency?: Latency;
  /** The ratio, or the value of a row without a comparison, that the design aims at. */
  readonly aim?: number;
}

export function record(comparison: Comparison): void {
  const file = process.env['BENCH_RESULTS'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(comparison)}\n`);
}
