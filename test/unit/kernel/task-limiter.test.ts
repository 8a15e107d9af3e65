import test from 'ava';
import { TaskLimiter } from '../../../src/kernel/task-limiter.js';

/** Work that ends on request. */
function held() {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => void (end = resolve));
  return { work: () => ended, end: () => end() };
}

test('one tenant never holds all places, and waiting tenants are admitted in turn', async (t) => {
  const places = new TaskLimiter({ all: 2, each: 1 });
  const begun: string[] = [];
  const run = (share: string, work: () => Promise<void>) =>
    places.run(share, async () => {
      begun.push(share);
      await work();
    });
  const [first, second] = [held(), held()];
  const all = [
    run('a', first.work),
    run('a', second.work),
    run('a', async () => undefined),
    run('b', async () => undefined),
  ];
  await all[3];
  t.deepEqual(begun, ['a', 'b']);
  t.is(places.waitingCount, 2);
  first.end();
  second.end();
  await Promise.all(all);
  t.deepEqual(begun, ['a', 'b', 'a', 'a']);
});

test('failed work returns its place', async (t) => {
  const places = new TaskLimiter({ all: 1, each: 1 });
  await t.throwsAsync(
    places.run('a', () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  t.is(await places.run('a', async () => 'yes'), 'yes');
});
