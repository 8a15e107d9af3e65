import test from 'ava';
import fc from 'fast-check';
import { SlidingWindow, windowMs } from '../../../../src/tenancy/quota/sliding-window.js';

/** Asks at each of the times and returns those at which there was room. */
function admitted(window: SlidingWindow, times: readonly number[], limit: number): number[] {
  return times.filter((time) => {
    if (window.used(time) >= limit) return false;
    window.add(time);
    return true;
  });
}

const gaps = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 900 }),
    fc.double({ min: 0, max: 20_000, noNaN: true }),
    fc.integer({ min: 59_000, max: 61_500 }),
    // So that bursts within one second meet the end of their minute again and again.
    fc.constantFrom(300, 900, 59_100, 59_600, 60_000),
  ),
  { minLength: 1, maxLength: 300 },
);

function timesOf(steps: readonly number[]): number[] {
  let now = 1_000;
  return steps.map((step) => (now += step));
}

test('no span of a minute exceeds the limit, whenever the events come', (t) => {
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 20 }), (steps, limit) => {
      const passed = admitted(new SlidingWindow(), timesOf(steps), limit);
      for (const [index, start] of passed.entries()) {
        const within = passed.slice(index).filter((time) => time < start + windowMs).length;
        if (within > limit) return false;
      }
      return true;
    }),
  );
  t.pass();
});

test('an event is refused only if the last 61 seconds contain the limit', (t) => {
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 20 }), (steps, limit) => {
      const times = timesOf(steps);
      const passed = admitted(new SlidingWindow(), times, limit);
      const refused = times.filter((time) => !passed.includes(time));
      return refused.every(
        (time) => passed.filter((other) => other <= time && other > time - 61_000).length >= limit,
      );
    }),
  );
  t.pass();
});

test('a full window admits at the time that it names, and not just before', (t) => {
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 20 }), (steps, limit) => {
      const window = new SlidingWindow();
      const times = timesOf(steps);
      admitted(window, times, limit);
      const now = times.at(-1) ?? 0;
      if (window.used(now) < limit) return true;
      const roomAt = window.roomAtMs(now, limit);
      const fullBefore = window.used(roomAt - 0.001) >= limit;
      return roomAt > now && fullBefore && window.used(roomAt) < limit;
    }),
  );
  t.pass();
});

test('a single event in its second leaves exactly a minute later', (t) => {
  const window = new SlidingWindow();
  window.add(5_250);
  t.is(window.used(65_249), 1);
  t.is(window.used(65_250), 0);
});

test('a burst within one second leaves together, a minute after its last event', (t) => {
  const window = new SlidingWindow();
  t.deepEqual(
    admitted(window, [1_000, 1_900, 61_500, 61_899, 61_900, 61_950], 2),
    [1_000, 1_900, 61_900, 61_950],
  );
});

test('a window over a lowered limit admits again when enough events have left', (t) => {
  const window = new SlidingWindow();
  for (const time of [1_000, 2_000, 3_000, 4_000]) window.add(time);
  t.is(window.roomAtMs(5_000, 4), 61_000);
  t.is(window.roomAtMs(5_000, 2), 63_000);
});

test('an empty window names the minute that an event now would use', (t) => {
  t.is(new SlidingWindow().roomAtMs(5_000, 10), 65_000);
});
