import fc from 'fast-check';
import test from 'ava';
import { Arrivals, type Arrival } from '../../../cluster/mailbox/arrivals.js';
import { Histogram } from '../../../cluster/measures/histogram.js';
import { LoopClock } from '../../../cluster/time/loop-clock.js';
import { SystemLoopLag } from '../../../cluster/time/loop-lag.js';
import { VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { eventually } from '../../support/clocks/eventually.js';

test('a histogram counts each duration in every bucket whose bound it does not exceed', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 5_000_000, noNaN: true }), { maxLength: 60 }),
      (durations) => {
        const histogram = new Histogram();
        for (const duration of durations) histogram.add(duration);
        const { count, sumMs, buckets } = histogram.read();
        for (const bucket of buckets) {
          const within = durations.filter((duration) => duration <= bucket.atMostMs).length;
          if (bucket.count !== within) return false;
        }
        const sum = durations.reduce((left, right) => left + right, 0);
        return count === durations.length && Math.abs(sumMs - sum) <= 1e-6 * (1 + sum);
      },
    ),
  );
  t.pass();
});

test('a quantile lies in the bucket of the exact value', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1_000_000, noNaN: true }), { minLength: 1, maxLength: 60 }),
      (durations) => {
        const histogram = new Histogram();
        for (const duration of durations) histogram.add(duration);
        const sorted = durations.toSorted((one, other) => one - other);
        const value = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
        const { p50Ms } = histogram.read();
        return p50Ms <= Math.max(0.25, value * 2) && p50Ms >= (value <= 0.25 ? 0 : value / 2);
      },
    ),
  );
  t.deepEqual(
    [new Histogram().read().p50Ms, new Histogram().read().p99Ms, new Histogram().read().count],
    [0, 0, 0],
  );
});

test('the oldest waiting entry is correct, whichever entries are removed', (t) => {
  const step = fc.record({ comes: fc.boolean(), which: fc.nat(1_000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const arrivals = new Arrivals();
      const waiting: Arrival[] = [];
      let clock = 0;
      return steps.every(({ comes, which }) => {
        clock += 1;
        if (comes || waiting.length === 0) {
          const arrival = { arrivedAtMs: clock, laterArrival: undefined, earlierArrival: undefined };
          waiting.push(arrival);
          arrivals.add(arrival);
        } else {
          const [left] = waiting.splice(which % waiting.length, 1);
          if (left === undefined) return false;
          arrivals.remove(left);
          // A second removal has no effect.
          arrivals.remove(left);
        }
        return arrivals.oldestMs === waiting[0]?.arrivedAtMs;
      });
    }),
  );
  t.pass();
});

test('the loop clock is constant within a turn and advances in the next', async (t) => {
  const time = new VirtualTime();
  const clock = new LoopClock(time);
  t.is(clock.nowMs(), time.monotonicMs());
  await time.advance(7);
  t.is(clock.nowMs(), time.monotonicMs());
});

test('a blocked event loop shows lag', async (t) => {
  const lag = new SystemLoopLag();
  t.teardown(() => lag.stop());
  const blockLoop = (): boolean => {
    const until = performance.now() + 120;
    while (performance.now() < until) continue;
    return lag.read().maxMs >= 60;
  };
  await eventually(blockLoop, { what: 'the lag is measured' });
  t.true(lag.read().p50Ms <= lag.read().maxMs);
});
