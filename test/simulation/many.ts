import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { longestOf, type LongestQueues } from './queues.js';
import { run, type Verdict } from './run.js';
import { shrink } from './shrink.js';

export interface Range {
  readonly from: number;
  readonly count: number;
}

export interface Summary {
  readonly seeds: number;
  readonly calls: number;
  readonly answered: number;
  readonly effects: number;
  readonly streams: number;
  readonly finished: number;
  readonly fired: number;
  readonly granted: number;
  readonly events: number;
  readonly steps: number;
  readonly traceMs: number;
  readonly queues: LongestQueues;
  readonly failures: readonly Verdict[];
}

const failuresMax = 5;

export async function runRange({ from, count }: Range): Promise<Summary> {
  const failures: Verdict[] = [];
  const verdicts: Verdict[] = [];
  for (let seed = from; seed < from + count && failures.length < failuresMax; seed += 1) {
    const verdict = await run({ seed });
    verdicts.push(verdict);
    if (verdict.violations.length > 0) failures.push(await shrink({ seed }, verdict));
  }
  const queues = longestOf(verdicts.map((verdict) => verdict.queues));
  return { ...sumsOf(verdicts), seeds: verdicts.length, queues, failures };
}

type Figures = Omit<Summary, 'seeds' | 'queues' | 'failures'>;

function sumsOf(parts: readonly Figures[]): Figures {
  const sum = (figure: (part: Figures) => number): number =>
    parts.reduce((total, part) => total + figure(part), 0);
  return {
    calls: sum(({ calls }) => calls),
    answered: sum(({ answered }) => answered),
    effects: sum(({ effects }) => effects),
    streams: sum(({ streams }) => streams),
    finished: sum(({ finished }) => finished),
    fired: sum(({ fired }) => fired),
    granted: sum(({ granted }) => granted),
    events: sum(({ events }) => events),
    steps: sum(({ steps }) => steps),
    traceMs: sum(({ traceMs }) => traceMs),
  };
}

/** Divides the seeds between processes, because one simulated cluster uses one core. */
export async function runMany(range: Range, processes: number): Promise<Summary> {
  const share = Math.ceil(range.count / processes);
  const parts = Array.from({ length: processes }, (_, index) => ({
    from: range.from + index * share,
    count: Math.min(share, range.count - index * share),
  }));
  const summaries = await Promise.all(parts.filter(({ count }) => count > 0).map(inProcess));
  return {
    ...sumsOf(summaries),
    seeds: summaries.reduce((total, { seeds }) => total + seeds, 0),
    queues: longestOf(summaries.map(({ queues }) => queues)),
    failures: summaries.flatMap(({ failures }) => failures),
  };
}

function inProcess(range: Range): Promise<Summary> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL('child.js', import.meta.url)), [JSON.stringify(range)]);
    child.once('message', (summary: Summary) => resolve(summary));
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code !== 0) reject(new Error(`a simulation process exited with code ${code}`));
    });
  });
}

export function show(verdict: Pick<Verdict, 'seed' | 'nodes' | 'faults' | 'violations'>): string {
  const faults = verdict.faults.map((fault) => `    ${JSON.stringify(fault)}`).join('\n');
  const violations = verdict.violations
    .slice(0, 10)
    .map((text) => `    ${text}`)
    .join('\n');
  return `seed ${verdict.seed}, ${verdict.nodes} nodes\n  the fewest faults found that still fail:\n${faults}\n  violations:\n${violations}`;
}
