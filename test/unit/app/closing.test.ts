import test from 'ava';
import { closeAll } from '../../../src/app/closing.js';
import { ManualTime } from '../../support/clocks/manual-time.js';
import { eventually } from '../../support/clocks/eventually.js';

function closing(t: { teardown(action: () => void): void }) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const drain = new AbortController();
  t.teardown(() => drain.abort());
  const closed: string[] = [];
  const reported: string[] = [];
  const report = (error: unknown): void => void reported.push(String(error));
  return { time, drain, closed, reported, parts: { time, report } };
}

test('parts close one after another, and a failure stops none of them', async (t) => {
  const { time, drain, closed, reported, parts } = closing(t);
  await closeAll(
    [
      async () => void closed.push('first'),
      () => {
        throw new Error('broken');
      },
      () => void closed.push('last'),
    ],
    drain.signal,
    parts,
  );
  t.deepEqual(closed, ['first', 'last']);
  t.deepEqual(reported, ['Error: broken']);
  t.is(time.pending, 0);
});

test('a part that never closes is waited for until shortly after the drain, and the others still close', async (t) => {
  const { time, drain, closed, reported, parts } = closing(t);
  let isOver = false;
  const all = closeAll(
    [
      () => new Promise<void>(() => undefined),
      async () => void closed.push('second'),
      () => new Promise<void>(() => undefined),
      () => void closed.push('last'),
    ],
    drain.signal,
    parts,
  ).then(() => (isOver = true));
  time.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(closed, [], 'the drain may take its time');
  drain.abort();
  await eventually(() => time.pending === 1);
  time.advance(5_499);
  await new Promise((resolve) => setImmediate(resolve));
  t.false(isOver);
  time.advance(1);
  await all;
  t.deepEqual(closed, ['second', 'last']);
  t.is(reported.length, 2);
  t.is(time.pending, 0);
});
