import test from 'ava';
import { FairQueue } from '../../../src/kernel/fair-queue.js';

test('waiting groups are served in turn, each in its own order', (t) => {
  const line = new FairQueue<string>();
  for (let index = 1; index <= 3_000; index += 1) line.push('hot', `hot ${index}`);
  for (const thing of ['ada 1', 'ada 2']) line.push('ada', thing);
  line.push('bob', 'bob 1');
  t.is(line.length, 3_003);
  t.is(line.lengthOf('hot'), 3_000);
  t.is(line.peek(), 'hot 1');
  const taken = Array.from({ length: 6 }, () => line.shift());
  t.deepEqual(taken, ['hot 1', 'ada 1', 'bob 1', 'hot 2', 'ada 2', 'hot 3']);
  t.deepEqual([...line].slice(0, 2), ['hot 4', 'hot 5']);
  for (let index = 4; index <= 3_000; index += 1) t.is(line.shift(), `hot ${index}`);
  t.is(line.shift(), undefined);
  t.is(line.length, 0);
  line.push('hot', 'again');
  t.is(line.shift(), 'again');
});
