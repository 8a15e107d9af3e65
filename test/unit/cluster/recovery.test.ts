import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { slot } from '../../../cluster/ids/ids.js';
import {
  Recovery,
  type RecoveryQuestion,
  type RecoverySource,
  type UnfinishedWork,
} from '../../../cluster/recovery/recovery.js';
import { SlotNode } from '../../support/builders/recovery-node.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';

const config = clusterConfig();

const unexpected = (_asked: string, error: unknown): never => {
  throw error;
};

interface Row extends UnfinishedWork {
  attempts: number;
  state: 'open' | 'done' | 'failed';
  fails: number;
}

class Rows {
  readonly rows = new Map<string, Row>();
  readonly runs: { id: string; attempt: number; atMs: number }[] = [];
  readonly time: VirtualTime;
  running = 0;
  mostRunning = 0;
  runMs = 100;
  away = false;

  constructor(time: VirtualTime) {
    this.time = time;
  }

  add(id: string, number: number, changes: Partial<Row> = {}): void {
    this.rows.set(id, { id, slot: slot(number), attempts: 0, state: 'open', fails: 0, ...changes });
  }

  async unfinished(slots: { has(number: ReturnType<typeof slot>): boolean }, limit: number): Promise<Row[]> {
    if (this.away) throw new Error('unreachable');
    return [...this.rows.values()]
      .filter((row) => row.state === 'open' && slots.has(row.slot))
      .slice(0, limit)
      .map((row) => ({ ...row }));
  }

  async takeUp({ id }: Row): Promise<number | undefined> {
    const row = this.rows.get(id);
    if (row?.state !== 'open') return undefined;
    row.attempts += 1;
    return row.attempts;
  }

  async run({ id }: Row, attempt: number): Promise<void> {
    this.runs.push({ id, attempt, atMs: this.time.monotonicMs() });
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    await new Promise<void>((resolve) => {
      this.time.after(this.runMs, resolve);
    });
    this.running -= 1;
    const row = this.rows.get(id);
    if (row === undefined) return;
    if (row.fails >= attempt) throw new Error('failed as planned');
    row.state = 'done';
  }

  async giveUp({ id }: Row): Promise<void> {
    const row = this.rows.get(id);
    if (row !== undefined) row.state = 'failed';
  }
}

function setUp() {
  const time = new VirtualTime();
  const node = new SlotNode();
  const rows = new Rows(time);
  const failed: [RecoveryQuestion, unknown][] = [];
  const recovery = new Recovery<Row>(node, rows, config, time, new SeededRandom(3), (asked, error) => {
    failed.push([asked, error]);
  });
  return { time, node, rows, recovery, failed };
}

test('after a cold start no work is taken up until the view is stable', async (t) => {
  const { time, node, rows, recovery } = setUp();
  rows.add('w', 5);
  recovery.start();
  node.view('me');
  await time.advance(config.recoveryStableViewMs - 100);
  t.deepEqual(rows.runs, []);
  await time.advance(500);
  t.is(rows.rows.get('w')?.state, 'done');
});

test('a full look is followed by the next at once', async (t) => {
  const { time, node, rows, recovery } = setUp();
  const count = 2 * config.recoveryBatch + 50;
  for (let index = 0; index < count; index += 1) rows.add(`w${index}`, index % 10);
  recovery.start();
  node.view('me');
  // Eight at a time, a tenth of a second each; the second look is due after 15 s, the sweep after 22 s at the earliest.
  await time.advance(config.recoveryStableViewMs + (count / config.recoveryConcurrency) * 100 + 1_000);
  t.is([...rows.rows.values()].filter(({ state }) => state === 'done').length, count);
});

test('the next look begins behind rows that were taken up and are still open', async (t) => {
  const { time, node } = setUp();
  const all = Array.from({ length: 2 * config.recoveryBatch + 1 }, (_, index) => ({
    id: `w${index}`,
    slot: slot(index % 10),
    attempts: 0,
  }));
  const begun = new Set<string>();
  let looks = 0;
  const source: RecoverySource<UnfinishedWork> = {
    unfinished: async (_slots, limit, beyond) => {
      looks += 1;
      const from = beyond === undefined ? 0 : all.findIndex(({ id }) => id === beyond.id) + 1;
      return all.slice(from, from + limit);
    },
    takeUp: async () => 1,
    run: async ({ id }) => void begun.add(id),
    giveUp: async () => undefined,
  };
  const recovery = new Recovery(node, source, config, time, new SeededRandom(3), unexpected);
  recovery.start();
  node.view('me');
  await time.advance(config.recoveryStableViewMs + 1_000);
  t.is(begun.size, all.length);
  // Two scans begin when the view is stable, and one of them goes on to the end.
  t.true(looks <= 6, `${looks} looks`);
});

test('work in gained slots is found, and work in slots of other nodes is not touched', async (t) => {
  const { time, node, rows, recovery } = setUp();
  recovery.start();
  node.view('me', 'other');
  await time.advance(10_000);
  for (let number = 0; number < 40; number += 1) rows.add(`w${number}`, number * 1_000);
  recovery.hint();
  await time.advance(2_000);
  for (const row of rows.rows.values()) t.is(row.state === 'done', node.owns(row.slot), row.id);
  node.view('me');
  await time.advance(2_000);
  for (const row of rows.rows.values()) t.is(row.state, 'done');
});

test('work committed just after the first scan is found by the second, when every older statement is over', async (t) => {
  const { time, node, rows, recovery } = setUp();
  recovery.start();
  node.view('me', 'other');
  await time.advance(20_000);
  node.view('me');
  await time.advance(100);
  rows.add('late', 7);
  await time.advance(config.leaseMs + config.leaseMarginMs + config.statementTimeoutMs + 1_000);
  t.is(rows.rows.get('late')?.state, 'done');
});

test('repeats run one at a time, whatever looks come in between', async (t) => {
  const { time, node, rows, recovery } = setUp();
  rows.runMs = 5_000;
  for (let number = 0; number < 4; number += 1) rows.add(`r${number}`, number, { attempts: 1 });
  node.view('me');
  recovery.start();
  for (let look = 0; look < 60; look += 1) {
    recovery.hint();
    await time.advance(1_000);
  }
  t.is(rows.mostRunning, 1);
  t.true([...rows.rows.values()].every(({ state }) => state === 'done'));
});

test('a look does not take up work that is being handled', async (t) => {
  const { time, node, rows, recovery } = setUp();
  rows.runMs = 5_000;
  rows.add('w', 5);
  node.view('me');
  recovery.start();
  await time.advance(config.recoveryStableViewMs + 1_000);
  t.is(rows.running, 1);
  recovery.hint();
  await time.advance(2_000);
  t.is(rows.mostRunning, 1);
  t.is(rows.rows.get('w')?.attempts, 1);
});

test('a repeat waits before it runs', async (t) => {
  const { time, node, rows, recovery } = setUp();
  rows.add('w', 5, { attempts: 2 });
  node.view('me');
  recovery.start();
  await time.advance(config.recoveryStableViewMs + config.recoveryRetryMs / 2);
  t.deepEqual(rows.runs, []);
  await time.advance(config.recoveryRetryMs * 4);
  t.is(rows.runs.length, 1);
});

test('work that is finished, or whose slot moves, while it waits to be repeated is left alone', async (t) => {
  for (const meanwhile of ['finished', 'moved', 'fenced'] as const) {
    const { time, node, rows, recovery } = setUp();
    rows.add('w', 5, { attempts: 1 });
    node.view('me');
    recovery.start();
    await time.advance(config.recoveryStableViewMs + 100);
    const row = rows.rows.get('w');
    if (row === undefined) throw new Error('the row was added');
    if (meanwhile === 'finished') row.state = 'done';
    if (meanwhile === 'moved') node.view('other');
    if (meanwhile === 'fenced') node.acts = false;
    await time.advance(config.recoveryRetryMs * 4);
    t.deepEqual(rows.runs, [], meanwhile);
    t.is(row.attempts, 1, meanwhile);
  }
});

test('rows of gained slots that are committed late are found when every older lease and statement is over', async (t) => {
  const { time, node, rows, recovery } = setUp();
  node.view('me', 'other');
  recovery.start();
  await time.advance(60_000);
  // Just after a sweep, so that the next one does not find them first.
  const { looks } = recovery.counts;
  await time.until(() => recovery.counts.looks > looks, 60_000);
  node.view('me');
  const olderMs = config.leaseMs + config.leaseMarginMs + config.statementTimeoutMs;
  await time.advance(olderMs - 500);
  rows.add('late', 5);
  await time.advance(400);
  t.deepEqual(rows.runs, []);
  await time.advance(400);
  t.is(rows.rows.get('late')?.state, 'done');
});

test('the sweep finds work that both scans missed, also after a store outage', async (t) => {
  const { time, node, rows, recovery, failed } = setUp();
  recovery.start();
  node.view('me');
  await time.advance(20_000);
  rows.away = true;
  rows.add('missed', 9);
  await time.advance(config.recoverySweepMs * 1.5);
  rows.away = false;
  await time.advance(config.recoverySweepMs * 1.5);
  t.is(rows.rows.get('missed')?.state, 'done');
  t.true(recovery.counts.failures > 0);
  t.is(failed.length, recovery.counts.failures);
  t.is(failed[0]?.[0], 'unfinished');
  t.true(failed[0]?.[1] instanceof Error);
});

test('work that always fails is taken up three times with growing pauses, then given up', async (t) => {
  const { time, node, rows, recovery, failed } = setUp();
  rows.add('bad', 5, { fails: 99 });
  recovery.start();
  node.view('me');
  await time.advance(60_000);
  t.is(rows.rows.get('bad')?.state, 'failed');
  t.deepEqual(
    rows.runs.map(({ attempt }) => attempt),
    [1, 2, 3],
  );
  t.is(recovery.counts.givenUp, 1);
  t.deepEqual(
    failed.map(([asked, error]) => `${asked}: ${String(error)}`),
    Array.from({ length: 3 }, () => 'run: Error: failed as planned'),
  );
});

test('repeats run one at a time, first attempts a few at a time', async (t) => {
  const { time, node, rows, recovery } = setUp();
  for (let number = 0; number < 6; number += 1) rows.add(`r${number}`, number, { attempts: 1 });
  recovery.start();
  node.view('me');
  await time.advance(30_000);
  t.is(rows.mostRunning, 1);
  t.is(rows.runs.length, 6);
  for (let number = 0; number < 30; number += 1) rows.add(`f${number}`, number);
  recovery.hint();
  await time.advance(3_000);
  t.is(rows.mostRunning, config.recoveryConcurrency);
});

test('a node that may not act, or was stopped, takes up no work', async (t) => {
  const { time, node, rows, recovery } = setUp();
  node.acts = false;
  rows.add('w', 5);
  recovery.start();
  node.view('me');
  await time.advance(40_000);
  t.deepEqual(rows.runs, []);
  recovery.stop();
  node.acts = true;
  await time.advance(60_000);
  t.deepEqual(rows.runs, []);
});

test('repeats beyond one look stay in the store, and first attempts behind them are taken up', async (t) => {
  const { time, node } = setUp();
  const all = Array.from({ length: 3 * config.recoveryBatch + 1 }, (_, index) => ({
    id: `w${index}`,
    slot: slot(index % 10),
    attempts: index < 3 * config.recoveryBatch ? 1 : 0,
  }));
  const begun: string[] = [];
  const source: RecoverySource<UnfinishedWork> = {
    unfinished: async (_slots, limit, beyond) => {
      const from = beyond === undefined ? 0 : all.findIndex(({ id }) => id === beyond.id) + 1;
      return all.slice(from, from + limit);
    },
    takeUp: async () => 1,
    run: async ({ id }) => void begun.push(id),
    giveUp: async () => undefined,
  };
  const recovery = new Recovery(node, source, config, time, new SeededRandom(3), unexpected);
  let most = 0;
  time.afterEach = () => {
    most = Math.max(most, recovery.waiting.repeats);
  };
  recovery.start();
  node.view('me');
  await time.advance(config.recoveryStableViewMs + 400);
  t.true(begun.includes(`w${3 * config.recoveryBatch}`), 'the first attempt');
  t.true(most > 0 && most <= config.recoveryBatch, `${most} repeats in memory`);
  recovery.stop();
});
