// What is published of benchmarks is made of one file (docs/decisions/0206-one-file-of-results.md), and the page of
// capacity computes with its own table.
import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';

interface Report {
  resultsPage(results: unknown): string;
  readmeTable(results: unknown): string;
  figures(results: unknown): ReadonlyMap<string, string>;
  compared(results: unknown): readonly { readonly what: string; readonly isLost: boolean }[];
}

interface Capacity {
  costsOf(page: string): Readonly<Record<string, Readonly<Record<string, number>>>>;
  capacityOf(costs: object, load: object, plan: object): Readonly<Record<string, number>>;
}

// Benchmarks build on the tests, and scripts are not compiled: neither can be named here by a type.
const load = async <Module>(path: string): Promise<Module> =>
  (await import(new URL(`../../../${path}`, import.meta.url).href)) as Module;
const report = await load<Report>('dist/bench/all/report.js');
const capacity = await load<Capacity>('scripts/capacity.mjs');
const results: unknown = JSON.parse(readFileSync('bench/results.json', 'utf8'));

test('the page of results, its figures and the table of the README are those of bench/results.json', (t) => {
  t.is(readFileSync('bench/results.md', 'utf8'), report.resultsPage(results));
  const readme = readFileSync('README.md', 'utf8');
  t.true(readme.includes(report.readmeTable(results)), 'run "npm run bench:all", which writes the table');
  const figures = report.figures(results);
  t.deepEqual(readdirSync('bench/figures').toSorted(), [...figures.keys()].toSorted());
  for (const [name, svg] of figures) t.is(readFileSync(`bench/figures/${name}`, 'utf8'), svg);
});

test('what is lost against a peer is on the page and in the README', (t) => {
  const example = {
    at: '2026-11-24T00:00:00.000Z',
    mode: 'whole',
    machine: { processors: '2 × an example' },
    versions: {},
    parts: [{ name: 'edge', seconds: 1, load: [1, 2], failed: 'it exited with 1' }],
    comparisons: [
      {
        bench: 'edge',
        what: 'reads',
        unit: 'per second',
        ours: [1, 2, 3],
        against: 'one',
        theirs: [2, 2, 2],
        better: 'more',
      },
      {
        bench: 'edge',
        what: 'waits',
        unit: 'ms',
        ours: [3],
        against: 'another',
        theirs: [2],
        better: 'less',
      },
      {
        bench: 'edge',
        what: 'writes',
        unit: 'per second',
        ours: [6, 6],
        against: 'one',
        theirs: [2, 3],
        better: 'more',
      },
      { bench: 'edge', what: 'alone', unit: 'MB', ours: [7], better: 'less' },
    ],
  };
  t.deepEqual(
    report.compared(example).map(({ what, isLost }) => [what, isLost]),
    [
      ['reads', false],
      ['waits', true],
      ['writes', false],
    ],
  );
  const page = report.resultsPage(example);
  t.true(page.includes('- waits, ms: 1.50 of another'));
  t.true(page.includes('1.00 [0.50–1.50]'));
  t.true(page.includes('not measured: it exited with 1'));
  t.true(report.readmeTable(example).includes('| waits, ms | another | 1.50, lost |'));
  t.false(report.readmeTable(example).includes('alone'));
});

test('a plan adds up what its load costs', (t) => {
  const costs = {
    call: { node: 1, database: 0.5, stored: 1, log: 2 },
    turn: { node: 3, database: 1, stored: 8, log: 10 },
  };
  const found = capacity.capacityOf(costs, { call: 600, turn: 400 }, { cores: 2, zones: 3, days: 10 });
  t.is(Math.round(Number(found['nodeCores']) * 100), 300);
  t.is(found['nodes'], 3, '3 cores of work and half as much again for a lost zone, on nodes of two cores');
  t.is(Math.round(Number(found['databaseCores']) * 100), 117);
  t.is(Math.round(Number(found['logMegabytesPerSecond']) * 10), 52);
  t.is(Math.round(Number(found['storedGigabytes'])), 3283);
});

test('the page of capacity has the costs of each kind of work', (t) => {
  const costs = capacity.costsOf(readFileSync('docs/guides/plan-capacity.md', 'utf8'));
  t.deepEqual(Object.keys(costs).toSorted(), ['call', 'turn', 'webhook']);
  for (const cost of Object.values(costs)) for (const value of Object.values(cost)) t.true(value > 0);
});
