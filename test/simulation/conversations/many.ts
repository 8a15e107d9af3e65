import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Range } from '../many.js';
import { type ConversationVerdict, runConversations } from './run.js';

export interface ConversationSummary {
  readonly seeds: number;
  readonly turns: number;
  readonly effects: number;
  readonly billed: number;
  readonly steps: number;
  /** The longest time until the last turn had ended. */
  readonly endedAfterMs: number;
  readonly messages: number;
  readonly callbacks: number;
  /** The longest time until the last answer had been sent. */
  readonly deliveredAfterMs: number;
  readonly failures: readonly ConversationVerdict[];
}

type Figures = Omit<ConversationSummary, 'seeds' | 'failures'>;

const failuresMax = 5;

export async function runConversationRange({ from, count }: Range): Promise<ConversationSummary> {
  const verdicts: ConversationVerdict[] = [];
  const failures: ConversationVerdict[] = [];
  for (let seed = from; seed < from + count && failures.length < failuresMax; seed += 1) {
    const verdict = await runConversations({ seed });
    verdicts.push(verdict);
    if (verdict.violations.length > 0) failures.push(verdict);
  }
  return { ...figuresOf(verdicts), seeds: verdicts.length, failures };
}

function figuresOf(parts: readonly Figures[]): Figures {
  const sum = (figure: (part: Figures) => number): number =>
    parts.reduce((total, part) => total + figure(part), 0);
  return {
    turns: sum(({ turns }) => turns),
    effects: sum(({ effects }) => effects),
    billed: sum(({ billed }) => billed),
    steps: sum(({ steps }) => steps),
    endedAfterMs: Math.max(0, ...parts.map(({ endedAfterMs }) => endedAfterMs)),
    messages: sum(({ messages }) => messages),
    callbacks: sum(({ callbacks }) => callbacks),
    deliveredAfterMs: Math.max(0, ...parts.map(({ deliveredAfterMs }) => deliveredAfterMs)),
  };
}

/** Divides the seeds between processes, because one simulated cluster uses one core. */
export async function runConversationSeeds(
  { from, count }: Range,
  processes: number,
): Promise<ConversationSummary> {
  const share = Math.ceil(count / processes);
  const ranges = Array.from({ length: processes }, (_, index) => ({
    from: from + index * share,
    count: Math.min(share, count - index * share),
  }));
  const parts = await Promise.all(ranges.filter((range) => range.count > 0).map(inProcess));
  return {
    ...figuresOf(parts),
    seeds: parts.reduce((sum, { seeds }) => sum + seeds, 0),
    failures: parts.flatMap(({ failures }) => failures),
  };
}

function inProcess(range: Range): Promise<ConversationSummary> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL('child.js', import.meta.url)), [JSON.stringify(range)]);
    child.once('message', (summary: ConversationSummary) => resolve(summary));
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code !== 0) reject(new Error(`a simulation process exited with code ${code}`));
    });
  });
}
