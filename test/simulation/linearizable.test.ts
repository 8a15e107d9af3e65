import test from 'ava';
import { checkLinearizable, type SentCall } from './checkers.js';

function call(
  id: string,
  sentAtMs: number,
  answeredAtMs: number | undefined,
  sum: number | undefined,
): SentCall {
  return {
    id,
    counter: 'sim.Ledger\0acme\0a',
    origin: { isDead: false },
    sentAtMs,
    isRecorded: true,
    outcome: sum === undefined ? 'failed' : 'answered',
    sum,
    ...(answeredAtMs === undefined ? {} : { answeredAtMs }),
    error: undefined,
  };
}

const nothing = { forgotten: new Set<string>() };

test('additions of overlapping calls may have any order', (t) => {
  t.deepEqual(
    checkLinearizable([call('a', 0, 10, 2), call('b', 5, 12, 1), call('c', 13, 20, 3)], nothing),
    [],
  );
});

test('an addition that was answered before another was sent has the lower sum', (t) => {
  const calls = [call('a', 0, 10, 2), call('b', 11, 20, 1)];
  t.deepEqual(checkLinearizable(calls, nothing), [
    'a: a has the sum 2 after b, which was sent after its answer',
  ]);
});

test('a repeated request counts from its first sending to its first answer', (t) => {
  const calls = [call('a', 0, undefined, undefined), call('a', 30, 40, 1), call('b', 11, 20, 2)];
  t.deepEqual(checkLinearizable(calls, nothing), []);
  const late = [...calls, call('b', 1, 5, 2), call('c', 6, 9, 1)];
  t.is(checkLinearizable(late.slice(2), nothing).length, 1);
});
