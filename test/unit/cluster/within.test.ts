import test from 'ava';
import { within, withinSignal } from '../../../cluster/index.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const never = new Promise<never>(() => undefined);
const late = (): never => {
  throw new Error('too late');
};

test('work that ends in time gives its result or its error, and leaves no timer', async (t) => {
  const time = new ManualTime('2026-11-23T10:00:00Z');
  t.is(await within(time, 100, Promise.resolve('done'), late), 'done');
  await t.throwsAsync(within(time, 100, Promise.reject(new Error('broken')), late), { message: 'broken' });
  t.is(time.pending, 0);
});

test('work that takes too long is answered by `late`, which returns a value or throws', async (t) => {
  const time = new ManualTime('2026-11-23T10:00:00Z');
  const refused = within(time, 100, never, late);
  const replaced = within(time, 100, never, () => 'instead');
  time.advance(99);
  t.is(await Promise.race([replaced, Promise.resolve('not yet')]), 'not yet');
  time.advance(1);
  await t.throwsAsync(refused, { message: 'too late' });
  t.is(await replaced, 'instead');
});

test('`late` is not called after the end of the work, also if its timer fires a turn later', async (t) => {
  const time = new ManualTime('2026-11-23T10:00:00Z');
  const later: (() => void)[] = [];
  let asked = 0;
  const deferring = { after: (ms: number, action: () => void) => time.after(ms, () => later.push(action)) };
  let finish: (text: string) => void = () => undefined;
  const work = new Promise<string>((resolve) => (finish = resolve));
  const bounded = within(deferring, 100, work, () => (asked += 1));
  time.advance(100);
  finish('just in time');
  t.is(await bounded, 'just in time');
  for (const action of later) action();
  t.is(asked, 0);
});

test('a signal ends with the time or with the outer signal, and neither is left behind', async (t) => {
  const time = new ManualTime('2026-11-23T10:00:00Z');
  const tooLate = (): Error => new Error('too late');
  const outer = new AbortController();
  const aborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  const timed = withinSignal(time, 100, outer.signal, tooLate, aborted);
  time.advance(100);
  await t.throwsAsync(timed, { message: 'too late' });
  let seen: AbortSignal | undefined;
  await withinSignal(time, 100, outer.signal, tooLate, async (signal) => void (seen = signal));
  const stopped = withinSignal(time, 100, outer.signal, tooLate, aborted);
  outer.abort(new Error('stopped'));
  await t.throwsAsync(stopped, { message: 'stopped' });
  await t.throwsAsync(withinSignal(time, 100, outer.signal, tooLate, aborted), { message: 'stopped' });
  t.is(time.pending, 0);
  t.false(seen?.aborted, 'work that has ended is not aborted afterwards');
});
