import test from 'ava';
import { Cell } from '../../../cluster/activation/cell.js';
import { Dispatcher } from '../../../cluster/activation/dispatcher.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { slot } from '../../../cluster/ids/ids.js';
import { systemTime } from '../../../cluster/time/system.js';

/** A loop whose turns the test takes, and whose clock moves by as much as each start takes. */
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
    /** Starts until the end of this turn of the loop. */
    async startsOfTurn(): Promise<number> {
      const before = starts;
      await Promise.resolve();
      for (const action of turns.splice(0)) action();
      return starts - before;
    },
  };
}

test('a burst of slow handlers gives way to the loop after a few milliseconds, and all of them start in the end', async (t) => {
  const { burst, startsOfTurn } = loop(0.1);
  burst(2_000);
  let total = 0;
  for (let turn = 0; total < 2_000; turn += 1) {
    const starts = await startsOfTurn();
    // The first turn ends with the start of the next, whose look comes after so many starts at the latest.
    t.true(starts <= 2 * 256, `${starts} in turn ${turn}`);
    total += starts;
    t.true(turn < 20);
  }
  t.is(total, 2_000);
});

test('a burst on a clock that stands still gives way after a number of starts', async (t) => {
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
