import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { AttemptClocks, type ClockLimits } from '../../../src/llm/transport/attempt-clocks.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

function clocks(limits: Partial<ClockLimits> = {}) {
  const time = new ManualTime('2026-11-01T00:00:00Z');
  const expired: string[] = [];
  const running = new AttemptClocks(
    time,
    {
      firstSignalMs: 30_000,
      idleMs: 30_000,
      callDeadlineMs: time.monotonicMs() + 120_000,
      ...limits,
    },
    (clock) => expired.push(clock),
  );
  return {
    running,
    expired,
    /** Advances the time; data that arrived `meanwhile` is read after the timers, as in a blocked loop. */
    pass: async (byMs: number, meanwhile?: () => void) => {
      time.advance(byMs);
      meanwhile?.();
      await nextTurn();
    },
  };
}

test('the first signal has thirty seconds, and other data does not extend it', async (t) => {
  const { running, expired, pass } = clocks();
  await pass(20_000);
  running.progress(false);
  await pass(9_999);
  t.deepEqual(expired, []);
  await pass(1);
  t.deepEqual(expired, ['first_signal']);
  await pass(500_000);
  t.deepEqual(expired, ['first_signal'], 'it fires once');
});

test('after the first signal each piece restarts the idle clock', async (t) => {
  const { running, expired, pass } = clocks();
  await pass(29_000);
  running.progress(true);
  for (let piece = 0; piece < 3; piece += 1) {
    await pass(29_999);
    t.deepEqual(expired, []);
    running.progress(false);
  }
  await pass(30_000);
  t.deepEqual(expired, ['call'], 'by then the whole call is over');
  const idle = clocks();
  idle.running.progress(true);
  await idle.pass(30_000);
  t.deepEqual(idle.expired, ['idle']);
});

test('an idle limit shorter than the rest of the first signal’s time is kept', async (t) => {
  const { running, expired, pass } = clocks({ idleMs: 1000 });
  running.progress(true);
  await pass(1000);
  t.deepEqual(expired, ['idle']);
});

test('while the reader delays the vendor only the call clock runs', async (t) => {
  const { running, expired, pass } = clocks();
  running.progress(true);
  running.hold();
  await pass(100_000);
  t.deepEqual(expired, []);
  running.release();
  await pass(19_999);
  t.deepEqual(expired, []);
  await pass(1);
  t.deepEqual(expired, ['call']);
});

test('an attempt without a first-signal clock has only the call clock', async (t) => {
  const { expired, pass } = clocks({ firstSignalMs: undefined });
  await pass(119_999);
  t.deepEqual(expired, []);
  await pass(1);
  t.deepEqual(expired, ['call']);
});

test('a stopped clock does nothing', async (t) => {
  const { running, expired, pass } = clocks();
  running.stop();
  running.progress(true);
  await pass(500_000);
  t.deepEqual(expired, []);
});

test('data that arrived while the loop was blocked counts before a time-out', async (t) => {
  const late = clocks({ idleMs: 1_000 });
  await late.pass(45_000, () => late.running.progress(true));
  t.deepEqual(late.expired, [], 'the first signal was there');
  await late.pass(5_000, () => late.running.progress(true));
  t.deepEqual(late.expired, [], 'and so was the next piece');
  await late.pass(1_000);
  t.deepEqual(late.expired, ['idle']);
  const over = clocks();
  await over.pass(200_000, () => over.running.progress(true));
  t.deepEqual(over.expired, ['call'], 'the end of the call is no question of silence');
});
