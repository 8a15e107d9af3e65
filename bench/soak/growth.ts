// Whether a process grows: its resident memory and its open files over time.
import { readdirSync, readFileSync } from 'node:fs';

interface Sample {
  readonly atMs: number;
  readonly residentMb: number;
  readonly files: number;
}

const pageBytes = 4096;

export class Growth {
  readonly #pid: number;
  readonly #samples: Sample[] = [];

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Systems without /proc have no samples. */
  sample(): void {
    try {
      const pages = Number(readFileSync(`/proc/${this.#pid}/statm`, 'utf8').split(' ')[1]);
      const files = readdirSync(`/proc/${this.#pid}/fd`).length;
      this.#samples.push({ atMs: performance.now(), residentMb: (pages * pageBytes) / 2 ** 20, files });
    } catch {
      // The process has ended, or there is no /proc.
    }
  }

  /** Per hour, by the medians of the second and the last quarter of the time: the first one warms up. */
  perHour(): { readonly residentMb: number; readonly files: number } | undefined {
    const quarter = Math.floor(this.#samples.length / 4);
    if (quarter < 2) return undefined;
    const early = this.#samples.slice(quarter, quarter * 2);
    const late = this.#samples.slice(-quarter);
    const hours = (middle(late, 'atMs') - middle(early, 'atMs')) / 3_600_000;
    const slope = (field: 'residentMb' | 'files'): number =>
      (middle(late, field) - middle(early, field)) / hours;
    return { residentMb: slope('residentMb'), files: slope('files') };
  }
}

function middle(samples: readonly Sample[], field: keyof Sample): number {
  const sorted = samples.map((sample) => sample[field]).toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
