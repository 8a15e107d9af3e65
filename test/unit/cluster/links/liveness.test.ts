import test from 'ava';
import { Liveness } from '../../../../cluster/links/liveness.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const periodMs = 1_000;
const silenceMs = 3_000;

function watched() {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const seen = { pings: 0, silentAtMs: [] as number[] };
  const startedMs = time.monotonicMs();
  const liveness = new Liveness(
    time,
    periodMs,
    silenceMs,
    () => (seen.pings += 1),
    () => seen.silentAtMs.push(time.monotonicMs() - startedMs),
  );
  return { time, seen, liveness };
}

test('a peer that answers no ping is silent once, just after the longest silence', (t) => {
  const { time, seen } = watched();
  time.advance(60_000);
  t.deepEqual(seen, { pings: 3, silentAtMs: [4_000] });
  t.is(time.pending, 0);
});

test('a peer of which anything is heard is not silent, and is pinged in every period', (t) => {
  const { time, seen, liveness } = watched();
  for (let passed = 0; passed < 20; passed += 1) {
    time.advance(periodMs);
    if (passed % 3 === 2) liveness.heard();
  }
  t.deepEqual(seen, { pings: 20, silentAtMs: [] });
  liveness.stop();
  time.advance(60_000);
  t.deepEqual(seen, { pings: 20, silentAtMs: [] }, 'a closed link pings nobody');
});

test('the silence of a peer does not include the time in which this process itself was stopped', (t) => {
  const { time, seen } = watched();
  time.stall(30_000);
  time.advance(periodMs);
  t.deepEqual(seen.silentAtMs, [], 'its frames of that time are still to be read');
  time.advance(10_000);
  t.is(seen.silentAtMs.length, 1);
});
