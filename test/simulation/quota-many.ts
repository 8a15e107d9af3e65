import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Range } from './many.js';
import { type QuotaVerdict, runQuota } from './quota-run.js';

export interface QuotaSummary {
  readonly seeds: number;
  readonly begun: number;
  readonly refused: number;
  readonly reserved: number;
  readonly failures: readonly QuotaVerdict[];
}

const failuresMax = 5;

export async function runQuotaRange({ from, count }: Range): Promise<QuotaSummary> {
  const verdicts: QuotaVerdict[] = [];
  const failures: QuotaVerdict[] = [];
  for (let seed = from; seed < from + count && failures.length < failuresMax; seed += 1) {
    const verdict = await runQuota({ seed });
    verdicts.push(verdict);
    if (verdict.violations.length > 0) failures.push(verdict);
  }
  return { ...sumsOf(verdicts), seeds: verdicts.length, failures };
}

function sumsOf(parts: readonly Pick<QuotaSummary, 'begun' | 'refused' | 'reserved'>[]) {
  return {
    begun: parts.reduce((sum, { begun }) => sum + begun, 0),
    refused: parts.reduce((sum, { refused }) => sum + refused, 0),
    reserved: parts.reduce((sum, { reserved }) => sum + reserved, 0),
  };
}

/** Divides the seeds between processes, because one simulated cluster uses one core. */
export async function runQuotas({ from, count }: Range, processes: number): Promise<QuotaSummary> {
  const share = Math.ceil(count / processes);
  const ranges = Array.from({ length: processes }, (_, index) => ({
    from: from + index * share,
    count: Math.min(share, count - index * share),
  }));
  const parts = await Promise.all(ranges.filter((range) => range.count > 0).map(inProcess));
  return {
    ...sumsOf(parts),
    seeds: parts.reduce((sum, { seeds }) => sum + seeds, 0),
    failures: parts.flatMap(({ failures }) => failures),
  };
}

function inProcess(range: Range): Promise<QuotaSummary> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL('quota-child.js', import.meta.url)), [JSON.stringify(range)]);
    child.once('message', (summary: QuotaSummary) => resolve(summary));
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code !== 0) reject(new Error(`a simulation process exited with code ${code}`));
    });
  });
}
