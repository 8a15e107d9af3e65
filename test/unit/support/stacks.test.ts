// scripts/lazy-source-maps.mjs reads a map when a stack names its file.
import test from 'ava';
import { FairQueue } from '../../../src/kernel/fair-queue.js';

test('a stack in a test names the places of the TypeScript sources', (t) => {
  const queue = new FairQueue<string>();
  queue.push('share', 'item');
  const error = t.throws(() =>
    queue.shift(() => {
      throw new Error('on purpose');
    }),
  );
  const stack = error?.stack ?? '';
  t.regex(stack, /^Error: on purpose\n/);
  t.regex(stack, /\/test\/unit\/support\/stacks\.test\.ts:10:13\)?\n/);
  t.regex(stack, /\/src\/kernel\/fair-queue\.ts:\d+:\d+/);
  t.false(stack.includes('/dist/'), stack);
});
