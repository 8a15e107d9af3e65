import test from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { Beginnings } from '../../../src/triggers/inbox/beginnings.js';

/** A clock whose timer the test fires, on time or late. */
function beginnings() {
  const begun: string[] = [];
  let nowMs = 0;
  let due: { readonly atMs: number; readonly action: () => void } | undefined;
  const made: Beginnings<string> = new Beginnings<string>({
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

test('a burst of one tenant begins by and by, and the first few of another at once', (t) => {
  const { begun, fire, ask } = beginnings();
  ask('hot', 100);
  t.is(begun.length, 32);
  fire(0);
  t.is(begun.length, 40);
  ask('calm', 3);
  t.deepEqual(begun.slice(40), ['calm 0', 'calm 1', 'calm 2']);
});

test('while the event loop is late no more begin than end, down to a few', (t) => {
  const { made, begun, fire, ask } = beginnings();
  ask('hot', 100);
  for (let round = 0; round < 4; round += 1) fire(0);
  t.is(begun.length, 64);
  fire(500);
  t.is(begun.length, 64, 'late: no more');
  for (let ended = 0; ended < 32; ended += 1) made.leave('hot');
  t.is(begun.length, 64, 'and fewer');
  made.leave('hot');
  t.is(begun.length, 65, 'but so many go on');
  fire(0);
  t.is(begun.length, 73, 'more again once it is on time');
});

test('an event loop that is late by less than a request takes begins no more either', (t) => {
  const { begun, fire, ask } = beginnings();
  ask('hot', 100);
  fire(5);
  t.is(begun.length, 40, 'about on time');
  fire(15);
  t.is(begun.length, 40, 'late: no more');
  fire(0);
  t.is(begun.length, 48);
});

test('everything that was asked for begins once, though no timer ever fires on time', (t) => {
  const { made, begun, fire, ask, isTimed } = beginnings();
  ask('hot', 300);
  ask('calm', 10);
  for (let ended = 0; ended < 310; ended += 1) {
    if (isTimed()) fire(1_000);
    made.leave(begun[ended]?.split(' ')[0] ?? '');
  }
  t.is(new Set(begun).size, 310);
  t.is(begun.length, 310);
  t.false(isTimed() && made.free < 512, 'nothing waits any more');
});
