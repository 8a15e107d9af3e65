import test from 'ava';
import { LeaseClock } from '../../../../cluster/membership/lease-clock.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

test('an answer that arrives after a later one does not shorten the right to act', (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const lease = new LeaseClock(time);
  const first = { monotonicMs: time.monotonicMs(), wallMs: time.wallMs() };
  time.advance(1_000);
  lease.extend({ monotonicMs: time.monotonicMs(), wallMs: time.wallMs() });
  time.advance(300);
  lease.extend(first);
  t.is(lease.ageMs(), 300);
});
