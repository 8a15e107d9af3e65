import test from 'ava';
import { sleep } from '../../../cluster/time/time.js';
import { clusterConfig } from '../../../cluster/config.js';
import { processId, slot, viewNumber } from '../../../cluster/ids/ids.js';
import { makeView } from '../../../cluster/membership/view.js';
import { DurableTimers } from '../../../cluster/recovery/durable-timers.js';
import {
  Recovery,
  type RecoveryNode,
  type RecoveryQuestion,
  type UnfinishedWork,
} from '../../../cluster/recovery/recovery.js';
import { buildRing, type Ring } from '../../../cluster/ring/ring.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';

const config = clusterConfig();
const process = processId('me');

class Node implements RecoveryNode {
  readonly process = process;
  readonly #listeners = new Set<(ring: Ring, before: Ring) => void>();
  ring = buildRing(makeView(viewNumber(0), []));
  acts = true;

  owns(number: ReturnType<typeof slot>): boolean {
    return this.ring.ownerOf(number)?.process === process;
  }

  mayAct(): boolean {
    return this.acts;
  }

  onRing(listener: (ring: Ring, before: Ring) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  view(...names: string[]): void {
    const before = this.ring;
    const members = names.map((name) => ({
      process: processId(name),
      address: name,
      weight: 1,
      roles: ['worker' as const],
      host: name,
      pid: 1,
    }));
    this.ring = buildRing(makeView(viewNumber(before.view.number + 1), members));
    for (const listener of this.#listeners) listener(this.ring, before);
  }
}

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
      this.time.after(100, resolve);
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
  const node = new Node();
  const rows = new Rows(time);
  const failed: [RecoveryQuestion, unknown][] = [];
  const recovery = new Recovery<Row>(node, rows, config, time, new SeededRandom(3), (asked, error) => {
    failed.push([asked, error]);
  });
  return { time, node, rows, recovery, failed };
}

const unexpected = (_asked: string, error: unknown): never => {
  throw error;
};

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

test('timers fire once at their time, including newly armed and overdue ones', async (t) => {
  const time = new VirtualTime();
  const node = new Node();
  const rows = new Map([
    ['soon', 5_000],
    ['overdue', -1_000],
    ['far', config.timerHorizonMs * 2],
  ]);
  const fired: [string, number][] = [];
  const timers = new DurableTimers(
    node,
    {
      upcoming: async (slots, horizonMs) =>
        [...rows]
          .map(([id, at]) => ({ id, slot: slot(3), dueInMs: at - time.monotonicMs() }))
          .filter(({ dueInMs, slot: number }) => dueInMs <= horizonMs && slots.has(number)),
      fire: async (id) => {
        const at = rows.get(id);
        if (at === undefined) return undefined;
        if (at > time.monotonicMs() + 1) return at - time.monotonicMs();
        rows.delete(id);
        fired.push([id, Math.round(time.monotonicMs())]);
        return undefined;
      },
    },
    config,
    time,
    unexpected,
  );
  node.view('me');
  timers.start();
  await time.advance(1_000);
  rows.set('new', 3_000);
  timers.armed({ id: 'new', slot: slot(3), dueInMs: 2_000 });
  rows.set('early', 9_000);
  timers.armed({ id: 'early', slot: slot(3), dueInMs: 100 });
  await time.advance(config.timerHorizonMs * 2 + 60_000);
  t.deepEqual(fired, [
    ['overdue', 0],
    ['new', 3_000],
    ['soon', 5_000],
    ['early', 9_000],
    ['far', config.timerHorizonMs * 2],
  ]);
  const { count, sumMs } = timers.lateness.read();
  t.is(count, 6, 'the timer that was armed too early was fired twice');
  t.true(sumMs >= 1_000 && sumMs < 1_100, `one timer was a second late when it was found: ${sumMs} ms`);
  timers.stop();
});

test('a timer of a lost slot is left to the new owner', async (t) => {
  const time = new VirtualTime();
  const node = new Node();
  const fired: string[] = [];
  const timers = new DurableTimers(
    node,
    {
      upcoming: async () => [{ id: 'moved', slot: slot(3), dueInMs: 5_000 - time.monotonicMs() }],
      fire: async (id) => {
        fired.push(id);
        return undefined;
      },
    },
    config,
    time,
    unexpected,
  );
  node.view('me');
  timers.start();
  await time.advance(1_000);
  node.view('another');
  await time.advance(20_000);
  t.deepEqual(fired, []);
  timers.stop();
});

test('each failure of a timer source is reported, and the timer fires once the source is back', async (t) => {
  const time = new VirtualTime();
  const node = new Node();
  const asked: string[] = [];
  let isAway = true;
  const answer = async <Value>(value: Value): Promise<Value> => {
    if (isAway) throw new Error('unreachable');
    return value;
  };
  const timers = new DurableTimers(
    node,
    {
      upcoming: () => answer([{ id: 'one', slot: slot(3), dueInMs: 0 }]),
      fire: () => answer(undefined),
    },
    config,
    time,
    (what, error) => asked.push(`${what}: ${String(error)}`),
  );
  node.view('me');
  timers.start();
  await time.advance(100);
  timers.armed({ id: 'one', slot: slot(3), dueInMs: 0 });
  await time.advance(100);
  t.deepEqual(asked, ['upcoming: Error: unreachable', 'fire: Error: unreachable']);
  t.is(timers.failures, 2);
  isAway = false;
  await time.advance(config.recoveryRetryMs + 100);
  t.is(timers.fired, 1);
  timers.stop();
});

test('many due timers fire a few at a time, each once, in the order of their times', async (t) => {
  const time = new VirtualTime();
  const node = new Node();
  const rows = new Map(Array.from({ length: 300 }, (_, index) => [`t${index}`, index]));
  const fired: string[] = [];
  let firing = 0;
  let most = 0;
  const timers = new DurableTimers(
    node,
    {
      upcoming: async () =>
        [...rows].map(([id, at]) => ({ id, slot: slot(3), dueInMs: at - 1_000 - time.monotonicMs() })),
      fire: async (id) => {
        firing += 1;
        most = Math.max(most, firing);
        rows.delete(id);
        fired.push(id);
        await sleep(time, 100);
        firing -= 1;
        if (id === 't7' && fired.length < 300) throw new Error('refused');
        return undefined;
      },
    },
    config,
    time,
    () => {},
  );
  node.view('me');
  timers.start();
  await time.advance(4_000);
  t.is(most, config.timerConcurrency);
  t.deepEqual(
    fired.slice(0, 300),
    Array.from({ length: 300 }, (_, index) => `t${index}`),
  );
  t.deepEqual(fired.slice(300), ['t7'], 'tried again');
  timers.stop();
});
