import test from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { StartPacer } from '../../../src/automation/inbox/start-pacer.js';

/** A clock whose timer the test fires, on time or late. */
function beginnings() {
  const begun: string[] = [];
  let nowMs = 0;
  let due: { readonly atMs: number; readonly action: () => void } | undefined;
  const made: StartPacer<string> = new StartPacer<string>({
    time: {
      ...systemTime,
      monotonicMs: () => nowMs,
      after: (ms, action) => {
        due = { atMs: nowMs + ms, action };
        return { cancel: () => (due = undefined) };
      },
    },
    limits: { all: 512, each: 256 },
    begin: (thing) => {
      begun.push(thing);
      made.enter(thing.split(' ')[0] ?? '');
    },
  });
  const fire = (lateMs: number): void => {
    const fired = due;
    due = undefined;
    nowMs = (fired?.atMs ?? nowMs) + lateMs;
    fired?.action();
  };
  const ask = (share: string, count: number): void => {
    for (let index = 0; index < count; index += 1) made.ask(share, `${share} ${index}`);
  };
  return { made, begun, fire, ask, isTimed: () => due !== undefined };
}

test('a burst of one tenant starts gradually, and the first few of another at once', (t) => {
  const { begun, fire, ask } = beginnings();
  ask('hot', 100);
  t.is(begun.length, 8);
  fire(0);
  t.is(begun.length, 16);
  ask('calm', 3);
  t.deepEqual(begun.slice(16), ['calm 0', 'calm 1', 'calm 2']);
});

test('tenants below the mean start at once, at any pace', (t) => {
  const { begun, fire, ask } = beginnings();
  ask('hot', 100);
  fire(0);
  fire(0);
  for (let round = 0; round < 20; round += 1) fire(500);
  const before = begun.length;
  ask('calm', 12);
  t.is(begun.length - before, 12);
  ask('calm', 100);
  t.is(begun.length - before, before, 'as many as the other has');
});

test('while the event loop is late fewer turns start each time, down to ten a second', (t) => {
  const { begun, fire, ask } = beginnings();
  ask('hot', 200);
  const each: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const before = begun.length;
    fire(15);
    each.push(begun.length - before);
  }
  t.deepEqual(each.slice(0, 4), [5, 4, 3, 2]);
  const before = begun.length;
  for (let round = 0; round < 50; round += 1) fire(500);
  t.is(begun.length - before, 10, 'ten in fifty times of 20 ms');
});

test('more turns start again, step by step, once the event loop is on time', (t) => {
  const { begun, fire, ask } = beginnings();
  ask('hot', 500);
  for (let round = 0; round < 20; round += 1) fire(15);
  let before = begun.length;
  fire(5);
  t.true(begun.length - before <= 1, 'about on time: few at first');
  for (let round = 0; round < 20; round += 1) fire(0);
  before = begun.length;
  fire(0);
  t.is(begun.length - before, 9, 'as many as at first, and growing');
});

test('an ending turn frees its place, and the pace still limits the next starts', (t) => {
  const { made, begun, fire, ask } = beginnings();
  ask('hot', 100);
  for (let ended = 0; ended < 8; ended += 1) made.leave('hot');
  t.is(begun.length, 8);
  fire(0);
  t.is(begun.length, 16);
});

test('every request starts once although no timer fires on time', (t) => {
  const { made, begun, fire, ask, isTimed } = beginnings();
  ask('hot', 300);
  ask('calm', 10);
  for (let round = 0; round < 2_000; round += 1) fire(1_000);
  t.is(begun.length, 256 + 10, 'as many as have a place');
  for (let ended = 0; ended < 310; ended += 1) {
    if (isTimed()) fire(1_000);
    made.leave(begun[ended]?.split(' ')[0] ?? '');
  }
  for (let round = 0; round < 500 && isTimed(); round += 1) fire(1_000);
  t.false(isTimed(), 'nothing waits any more');
  t.is(new Set(begun).size, 310);
  t.is(begun.length, 310);
});

test('a tenant below its share starts at once what it asked for first', (t) => {
  const { made, begun, ask } = beginnings();
  ask('hot', 8);
  for (const waiting of ['hot first', 'hot second']) made.ask('hot', waiting);
  for (let ended = 0; ended < 6; ended += 1) made.leave('hot');
  made.ask('hot', 'hot third');
  t.deepEqual(begun.slice(8), ['hot first'], 'not the newest');
  t.is(made.waitingCount, 2);
});
