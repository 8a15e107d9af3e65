// The page of all results, and the table of the README. Both are made of `bench/results.json` alone, so that a test can
// compare them.
import type { Comparison, Latency } from '../support/results.js';
import { figureOf } from './figure.js';

export interface Part {
  readonly name: string;
  readonly seconds: number;
  /** Processes that waited for a core, on average of a minute, before and after the part. */
  readonly load: readonly [before: number, after: number];
  /** What it printed last, if it failed. */
  readonly failed?: string;
}

export interface Results {
  readonly at: string;
  readonly mode: 'whole' | 'reduced';
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly parts: readonly Part[];
  readonly comparisons: readonly Comparison[];
}

export interface Compared extends Comparison {
  /** Ours divided by theirs, by round. */
  readonly ratios: readonly number[];
  /** The peer is better in the median. */
  readonly isLost: boolean;
}

export function compared({ comparisons }: Results): readonly Compared[] {
  return comparisons
    .map((one) => ({
      ...one,
      ratios: one.ours.map((value, round) => value / (one.theirs?.[round] ?? Number.NaN)),
    }))
    .filter(({ ratios }) => ratios.some(Number.isFinite))
    .map((one) => ({
      ...one,
      isLost: one.better === 'more' ? median(one.ratios) < 1 : median(one.ratios) > 1,
    }));
}

export const figuresFolder = 'figures';

/** By file name; one for each benchmark that compares. */
export function figures(results: Results): ReadonlyMap<string, string> {
  const rows = compared(results);
  const benches = [...new Set(rows.map(({ bench }) => bench))];
  return new Map(
    benches.map((bench) => [
      `${bench}.svg`,
      figureOf(
        bench,
        rows.filter((row) => row.bench === bench),
      ),
    ]),
  );
}

export function resultsPage(results: Results): string {
  const rows = compared(results);
  const benches = [...new Set(results.comparisons.map(({ bench }) => bench))];
  const lost = rows.filter(({ isLost }) => isLost);
  return [
    '# Results of all benchmarks',
    '',
    '`npm run bench:all` writes this page. Each row compares pair by pair within one run: take the ratios, not the figures, which depend on the machine and on what else it does. In brackets: the lowest and highest round.',
    '',
    `Measured on ${results.at}${results.mode === 'reduced' ? ', at a reduced size' : ''}.`,
    '',
    '| | |',
    '|---|---|',
    ...Object.entries({ ...results.machine, ...results.versions }).map(
      ([name, value]) => `| ${name} | ${value} |`,
    ),
    '',
    '## Lost against a peer',
    '',
    ...(lost.length === 0
      ? ['Nothing.']
      : lost.map((row) => `- ${row.what}, ${row.unit}: ${span(row.ratios)} of ${row.against ?? ''}`)),
    '',
    ...benches.flatMap((bench) => partOf(bench, results, rows)),
    '## Load of the machine',
    '',
    '| part | seconds | processes that waited for a core before, after | |',
    '|---|---|---|---|',
    ...results.parts.map(
      ({ name, seconds, load, failed }) =>
        `| ${name} | ${seconds.toFixed(0)} | ${load.map((one) => one.toFixed(1)).join(', ')} | ${failed === undefined ? '' : `not measured: ${failed.replaceAll('|', '\\|')}`} |`,
    ),
    '',
  ].join('\n');
}

function partOf(bench: string, results: Results, rows: readonly Compared[]): readonly string[] {
  const own = rows.filter((row) => row.bench === bench);
  const alone = results.comparisons.filter((one) => one.bench === bench && one.theirs === undefined);
  return [
    `## ${bench}`,
    '',
    ...(own.length === 0
      ? []
      : [
          `![Ratios of ${bench}](${figuresFolder}/${bench}.svg)`,
          '',
          '| what | unit | Troupe | compared with | | Troupe ÷ peer | aim | p50, p99 in ms (peer) |',
          '|---|---|---|---|---|---|---|---|',
          ...own.map(
            (row) =>
              `| ${row.what} | ${row.unit} | ${span(row.ours)} | ${row.against ?? ''} | ${span(row.theirs ?? [])} | ${span(row.ratios)}${row.isLost ? ', lost' : ''} | ${row.aim ?? ''} | ${latencyOf(row.ourLatency)} (${latencyOf(row.theirLatency)}) |`,
          ),
          '',
        ]),
    ...(alone.length === 0
      ? []
      : [
          '| what | | unit | aim | p50, p99 in ms |',
          '|---|---|---|---|---|',
          ...alone.map(
            (one) =>
              `| ${one.what} | ${span(one.ours)} | ${one.unit} | ${one.aim === undefined ? '' : `${one.better === 'less' ? '≤' : '≥'} ${one.aim}`} | ${latencyOf(one.ourLatency)} |`,
          ),
          '',
        ]),
  ];
}

export const readmeMarks = ['<!-- bench:all -->', '<!-- end of bench:all -->'] as const;

/** What a reader compares first: the peers by name, what won and what lost. */
export function readmeTable(results: Results): string {
  return [
    readmeMarks[0],
    '',
    '| what | compared with | Troupe ÷ peer |',
    '|---|---|---|',
    ...shortList(compared(results)).map(
      ({ what, unit, against, ratios, isLost }) =>
        `| ${what}, ${unit} | ${against ?? ''} | ${span(ratios)}${isLost ? ', lost' : ''} |`,
    ),
    '',
    `On ${results.machine['processors'] ?? 'an unknown machine'}, load ${loadRange(results)}, ${results.at.slice(0, 10)}. [All results](bench/results.md), with machine, versions and spreads.`,
    '',
    readmeMarks[1],
  ].join('\n');
}

/**
 * Leaves out the storage part, rows of the runtime without an aim, and the CPU time of each comparison that has a rate
 * by the clock.
 */
function shortList(rows: readonly Compared[]): readonly Compared[] {
  const isByClock = ({ unit }: Compared): boolean => unit.endsWith('per second');
  const isSame = (one: Compared, other: Compared): boolean =>
    one.bench === other.bench && one.what === other.what && one.against === other.against;
  return rows.filter(
    (row) =>
      row.bench !== 'storage' &&
      (row.bench !== 'runtime' || row.aim !== undefined) &&
      (isByClock(row) || !rows.some((other) => isByClock(other) && isSame(row, other))),
  );
}

function loadRange({ parts }: Results): string {
  const loads = parts.flatMap(({ load }) => load);
  return loads.length === 0
    ? 'unknown'
    : `${Math.min(...loads).toFixed(0)} to ${Math.max(...loads).toFixed(0)}`;
}

function latencyOf(latency: Latency | undefined): string {
  return latency === undefined ? '' : `${shown(latency.p50Ms)}, ${shown(latency.p99Ms)}`;
}

export function span(values: readonly number[]): string {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return '';
  if (known.length === 1) return shown(median(known));
  return `${shown(median(known))} [${shown(Math.min(...known))}–${shown(Math.max(...known))}]`;
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}

export function median(values: readonly number[]): number {
  const sorted = values.filter(Number.isFinite).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
