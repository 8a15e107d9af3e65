import test from 'ava';
import { AttemptClocks, type ClockLimits } from '../../../src/llm/transport/attempt-clocks.js';
import { ManualTime } from '../../support/manual-time.js';

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
  return { time, running, expired };
}

test('the first signal has thirty seconds, and what is no signal gives it no more', (t) => {
  const { time, running, expired } = clocks();
  time.advance(20_000);
  running.progress(false);
  time.advance(9_999);
  t.deepEqual(expired, []);
  time.advance(1);
  t.deepEqual(expired, ['first_signal']);
  time.advance(500_000);
  t.deepEqual(expired, ['first_signal'], 'it fires once');
});

test('after the first signal each piece starts the idle clock anew', (t) => {
  const { time, running, expired } = clocks();
  time.advance(29_000);
  running.progress(true);
  for (let piece = 0; piece < 3; piece += 1) {
    time.advance(29_999);
    t.deepEqual(expired, []);
    running.progress(false);
  }
  time.advance(30_000);
  t.deepEqual(expired, ['call'], 'by then the whole call is over');
  const idle = clocks();
  idle.running.progress(true);
  idle.time.advance(30_000);
  t.deepEqual(idle.expired, ['idle']);
});

test('an idle limit shorter than the rest of the first signal’s time is kept', (t) => {
  const { time, running, expired } = clocks({ idleMs: 1000 });
  running.progress(true);
  time.advance(1000);
  t.deepEqual(expired, ['idle']);
});

test('while our own reader holds the vendor up only the call clock runs', (t) => {
  const { time, running, expired } = clocks();
  running.progress(true);
  running.hold();
  time.advance(100_000);
  t.deepEqual(expired, []);
  running.release();
  time.advance(19_999);
  t.deepEqual(expired, []);
  time.advance(1);
  t.deepEqual(expired, ['call']);
});

test('an attempt without a first-signal clock has only the call clock', (t) => {
  const { time, expired } = clocks({ firstSignalMs: undefined });
  time.advance(119_999);
  t.deepEqual(expired, []);
  time.advance(1);
  t.deepEqual(expired, ['call']);
});

test('a stopped clock is silent', (t) => {
  const { time, running, expired } = clocks();
  running.stop();
  running.progress(true);
  time.advance(500_000);
  t.deepEqual(expired, []);
});
