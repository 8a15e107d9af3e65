// How many tests of one process use nodes at once: all of a pack together would be late for their own bounds.
import { availableParallelism } from 'node:os';
import { TaskLimiter } from '../../../src/kernel/task-limiter.js';

/** A test. Hooks and programs, which have no title, need no place. */
export interface PlaceUser {
  readonly title?: string;
  teardown?(fn: () => Promise<void>): void;
}

/** Ava runs several such processes. */
const testsMax = availableParallelism() > 2 ? 6 : 3;
const places = new TaskLimiter({ all: testsMax, each: testsMax });
const entered = new WeakSet<PlaceUser>();

/** Resolves once the test has a place, which it keeps until its end. A test has one however often it asks. */
export async function takePlace(t: PlaceUser): Promise<void> {
  const { title, teardown } = t;
  if (title === undefined || teardown === undefined || entered.has(t)) return;
  entered.add(t);
  await new Promise<void>((begin) => {
    void places.run('tests', async () => {
      const ended = new Promise<void>((end) => teardown.call(t, async () => end()));
      begin();
      await ended;
    });
  });
}
