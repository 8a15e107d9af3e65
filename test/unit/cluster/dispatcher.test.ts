import test from 'ava';
import { Cell } from '../../../cluster/activation/cell.js';
import { Dispatcher } from '../../../cluster/activation/dispatcher.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { slot } from '../../../cluster/ids/ids.js';
import { systemTime } from '../../../cluster/time/system.js';

/** An event loop whose turns the test runs, with a clock that each start advances by `startMs`. */
function loop(startMs: number) {
  const turns: (() => void)[] = [];
  let nowMs = 0;
  let starts = 0;
  const time = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    after: () => ({ cancel() {} }),
    soon: (action: () => void) => void turns.push(action),
  };
  const dispatcher = new Dispatcher(time, () => {
    starts += 1;
    nowMs += startMs;
  });
  const kind = volatileCounter(systemTime);
  return {
    burst(count: number): void {
      for (let index = 0; index < count; index += 1)
        dispatcher.enqueue(new Cell(kind, `g\0k${index}`, slot(0)));
    },
    /** The number of starts in this turn of the loop. */
    async startsOfTurn(): Promise<number> {
      const before = starts;
      await Promise.resolve();
      for (const action of turns.splice(0)) action();
      return starts - before;
    },
  };
}

test('a burst of slow handlers yields to the event loop after a few milliseconds, and all of them start eventually', async (t) => {
  const { burst, startsOfTurn } = loop(0.1);
  burst(2_000);
  let total = 0;
  for (let turn = 0; total < 2_000; turn += 1) {
    const starts = await startsOfTurn();
    // This counts the end of one turn and the start of the next, each at most 256 starts between clock reads.
    t.true(starts <= 2 * 256, `${starts} in turn ${turn}`);
    total += starts;
    t.true(turn < 20);
  }
  t.is(total, 2_000);
});

test('a burst on a stopped clock yields after a fixed number of starts', async (t) => {
  const { burst, startsOfTurn } = loop(0);
  burst(20_000);
  let total = 0;
  let turns = 0;
  while (total < 20_000) {
    const starts = await startsOfTurn();
    t.true(starts <= 2 * 8_192, `${starts}`);
    total += starts;
    turns += 1;
    t.true(turns < 20);
  }
  t.true(turns >= 2);
});
