// A small size of `npm run simulate:scale`: whole nodes of the runtime, and bounds on what may not grow with their number.
import test from 'ava';
import { processId, viewNumber } from '../../../cluster/ids/ids.js';
import { neighboursOf } from '../../../cluster/membership/neighbours.js';
import { makeView } from '../../../cluster/membership/view.js';
import { Sessions } from './placement.js';
import { type Phase, runScale, type ScaleReport } from './scale-run.js';
import { ScaleWorld } from './scale-world.js';

/** So that sixty nodes are as much more than a node's neighbours as a thousand are by default. */
const config = { neighboursMax: 6, hintedReadsMax: 1_000 };
const neighbours = config.neighboursMax;

function run(nodes: number): Promise<ScaleReport> {
  return runScale({ nodes, sessions: 100_000, calmMs: 3_000, callsPerSecond: 20, upgradeParts: 4, config });
}

function sum(of: (move: Phase['moves'][number]) => number, { moves }: Phase): number {
  return moves.reduce((total, move) => total + of(move), 0);
}

test('sixty nodes survive a zone and an upgrade of all, and nothing grows with the square of their number', async (t) => {
  const [half, whole] = [await run(30), await run(60)];
  for (const report of [half, whole]) {
    t.deepEqual(report.fenced, [], 'nobody loses a lease');
    t.true(report.balance.slots.most <= 1.1, `slots of the fullest ${report.balance.slots.most}`);
    t.true(report.balance.sessions.most <= 1.2, `sessions of the fullest ${report.balance.sessions.most}`);
    t.true(report.balanceAfter.slots.most <= 1.1, `after the upgrade ${report.balanceAfter.slots.most}`);
    // Lease and margin, a poll, the watchers' head start, and the view.
    t.true(report.zone.convergedMs <= 8_000, `a dead zone: ${report.zone.convergedMs} ms`);
    t.is(
      sum(({ slots }) => slots, report.zone),
      sum(({ needed }) => needed, report.zone),
      'the zone moves its slots alone',
    );
    t.is(
      sum(({ slots }) => slots, report.upgrade),
      sum(({ needed }) => needed, report.upgrade),
      'as does each part',
    );
    t.is(report.zone.calls.failed + report.upgrade.calls.failed, 0, 'no call fails');
    t.true(report.zone.calls.sent > 0 && report.upgrade.calls.sent > 0);
    t.true(report.links.most <= neighbours + 20, `${report.links.most} links of one node`);
    t.true(
      report.upgrade.slowestPartMs <= 5_000,
      `a part of the upgrade: ${report.upgrade.slowestPartMs} ms`,
    );
  }
  const each = ({ calm, nodes }: ScaleReport): number => calm.batches / nodes;
  t.true(each(whole) <= 1.3 * each(half), `batches of one node: ${each(half)}, then ${each(whole)}`);
  const probesEach = ({ zone }: ScaleReport): number => zone.probes / zone.died;
  t.true(
    probesEach(whole) <= 1.5 * probesEach(half),
    `probes for one dead: ${probesEach(half)}, ${probesEach(whole)}`,
  );
});

test('links to members that are no neighbours open with a call and close when they are not used', async (t) => {
  const world = new ScaleWorld(new Sessions(1_000), 1, { ...config, neighboursMax: 4 });
  for (let index = 0; index < 20; index += 1) world.start(`p${index}`, 0);
  await world.converge(10_000);
  await world.time.advance(2_000);
  const open = (): readonly number[] => world.nodes.map(({ node }) => node.describe().links.open);
  t.deepEqual(new Set(open()), new Set([4]));
  const stop = world.load(100);
  await world.time.advance(5_000);
  t.true(Math.max(...open()) > 4, 'calls go to all');
  stop();
  await world.time.advance(3 * world.config.linkUnusedMs);
  t.deepEqual(new Set(open()), new Set([4]));
});

function viewOf(count: number) {
  return makeView(
    viewNumber(1),
    Array.from({ length: count }, (_, index) => ({
      process: processId(`p${index}`),
      address: `p${index}:1`,
      weight: 1,
      roles: ['worker'] as const,
      host: 'h',
      pid: 1,
    })),
  );
}

test('all others are neighbours in a small view', (t) => {
  t.deepEqual(neighboursOf(viewOf(4), processId('p2'), 3), ['p0', 'p1', 'p3'].map(processId));
});

test('each member of a large view is watched by as many as it watches', (t) => {
  const view = viewOf(200);
  const watchers = new Map<string, number>();
  for (const { process } of view.members) {
    const watched = neighboursOf(view, process, 16);
    t.is(new Set(watched).size, 16);
    t.false(watched.includes(process));
    for (const one of watched) watchers.set(one, (watchers.get(one) ?? 0) + 1);
  }
  t.deepEqual(new Set(watchers.values()), new Set([16]));
});

test('a process that joins has its neighbours before a view names it', (t) => {
  t.is(neighboursOf(viewOf(200), processId('newcomer'), 16).length, 16);
});
