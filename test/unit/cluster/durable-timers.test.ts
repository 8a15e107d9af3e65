import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { slot } from '../../../cluster/ids/ids.js';
import { DurableTimers } from '../../../cluster/recovery/durable-timers.js';
import { VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { sleep } from '../../../cluster/time/time.js';
import { SlotNode } from '../../support/builders/recovery-node.js';

const config = clusterConfig();

const unexpected = (_asked: string, error: unknown): never => {
  throw error;
};

test('timers fire once at their time, including newly armed and overdue ones', async (t) => {
  const time = new VirtualTime();
  const node = new SlotNode();
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
  const node = new SlotNode();
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
  const node = new SlotNode();
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
  const node = new SlotNode();
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

test('the timers of gained slots are read at once, and a disarmed timer does not fire', async (t) => {
  const time = new VirtualTime();
  const node = new SlotNode();
  const fired: [string, number][] = [];
  const timers = new DurableTimers(
    node,
    {
      upcoming: async (slots) =>
        slots.has(slot(3)) ? [{ id: 'moved', slot: slot(3), dueInMs: 5_000 - time.monotonicMs() }] : [],
      fire: async (id) => {
        fired.push([id, Math.round(time.monotonicMs())]);
        return undefined;
      },
    },
    config,
    time,
    unexpected,
  );
  node.view('other');
  timers.start();
  await time.advance(1_000);
  node.view('me');
  timers.armed({ id: 'disarmed', slot: slot(3), dueInMs: 2_000 });
  timers.disarmed('disarmed');
  await time.advance(6_000);
  t.deepEqual(fired, [['moved', 5_000]]);
  timers.stop();
});

test('slots that are gained while the timers of others are read are read right after', async (t) => {
  const time = new VirtualTime();
  const node = new SlotNode();
  node.view('me', 'other');
  const all = Array.from({ length: 100 }, (_, number) => slot(number));
  const rows = [
    { id: 'kept', slot: all.find((one) => node.owns(one)) ?? slot(0), atMs: 6_000 },
    { id: 'gained', slot: all.find((one) => !node.owns(one)) ?? slot(0), atMs: 5_000 },
  ];
  const fired: [string, number][] = [];
  let readings = 0;
  const timers = new DurableTimers(
    node,
    {
      upcoming: async (asked) => {
        readings += 1;
        const found = rows
          .filter((row) => asked.has(row.slot))
          .map(({ atMs, ...row }) => ({ ...row, dueInMs: atMs - time.monotonicMs() }));
        await sleep(time, 800);
        return found;
      },
      fire: async (id) => {
        fired.push([id, Math.round(time.monotonicMs())]);
        return undefined;
      },
    },
    config,
    time,
    unexpected,
  );
  timers.start();
  await time.advance(400);
  node.view('me');
  await time.advance(6_000);
  t.deepEqual(fired, [
    ['gained', 5_000],
    ['kept', 6_000],
  ]);
  t.is(readings, 2, 'one for the slots of the first view, one for those of the second');
  timers.stop();
});
