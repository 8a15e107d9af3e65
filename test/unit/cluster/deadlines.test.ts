import test from 'ava';
import fc from 'fast-check';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { backoffMs } from '../../../cluster/time/backoff.js';
import { Deadlines, type Deadlined } from '../../../cluster/time/deadlines.js';

class Entry implements Deadlined {
  readonly deadlineAtMs: number;
  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;
  firedAtMs: number | undefined = undefined;
  readonly #time: VirtualTime;
  readonly #then: () => void;

  constructor(time: VirtualTime, deadlineAtMs: number, then: () => void = () => {}) {
    this.#time = time;
    this.deadlineAtMs = deadlineAtMs;
    this.#then = then;
  }

  onDeadline(): void {
    this.firedAtMs = this.#time.monotonicMs();
    this.#then();
  }
}

test('each deadline fires once and at most two ticks late, also beyond one turn of the wheel', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 50_000 }), { maxLength: 40 }), async (delays) => {
      const time = new VirtualTime();
      const deadlines = new Deadlines(time);
      const entries = delays.map((delay) => new Entry(time, delay));
      for (const entry of entries) deadlines.add(entry);
      await time.advance(60_000);
      t.is(deadlines.size, 0);
      for (const entry of entries) {
        const lateMs = (entry.firedAtMs ?? Number.NaN) - entry.deadlineAtMs;
        t.true(lateMs >= -1 && lateMs <= 32, `${entry.deadlineAtMs} fired ${lateMs} ms late`);
      }
    }),
    { numRuns: 30 },
  );
});

test('a removed deadline does not fire, and no timer remains', async (t) => {
  const time = new VirtualTime();
  const deadlines = new Deadlines(time);
  const kept = new Entry(time, 100);
  const removed = new Entry(time, 100);
  deadlines.add(kept);
  deadlines.add(removed);
  deadlines.remove(removed);
  deadlines.remove(removed);
  await time.advance(3_000);
  t.is(removed.firedAtMs, undefined);
  t.not(kept.firedAtMs, undefined);
  const before = time.eventsRun;
  await time.advance(60_000);
  t.is(time.eventsRun, before);
});

test('a deadline that removes another one of the same instant prevents it from firing', async (t) => {
  const time = new VirtualTime();
  const deadlines = new Deadlines(time);
  const one = new Entry(time, 50, () => deadlines.remove(other));
  const other = new Entry(time, 50, () => deadlines.remove(one));
  deadlines.add(one);
  deadlines.add(other);
  await time.advance(200);
  t.is([one, other].filter((entry) => entry.firedAtMs !== undefined).length, 1);
});

test('a deadline that is already past when it is added fires', async (t) => {
  const time = new VirtualTime();
  const deadlines = new Deadlines(time);
  await time.advance(100_000);
  const entry = new Entry(time, 5);
  deadlines.add(entry);
  t.is(entry.firedAtMs, undefined);
  await time.advance(40);
  t.not(entry.firedAtMs, undefined);
});

test('the pause between attempts doubles up to its bound and differs between peers', (t) => {
  const random = new SeededRandom(1);
  const pauses = [0, 1, 2, 3, 20].map((attempt) => backoffMs(attempt, { baseMs: 50, maxMs: 400 }, random));
  for (const [index, ceiling] of [50, 100, 200, 400, 400].entries()) {
    const pause = pauses[index] ?? 0;
    t.true(pause >= ceiling / 2 && pause <= ceiling);
  }
  t.is(new Set(pauses).size, 5);
});
