import test from 'ava';
import { SlidingWindow } from '../../../../src/tenancy/quota/sliding-window.js';
import { WindowSet } from '../../../../src/tenancy/quota/window-set.js';

test('a window in use stays the same', (t) => {
  const windows = new WindowSet(10, () => new SlidingWindow());
  windows.window('one').add(0);
  t.is(windows.window('one').used(1), 1);
  t.is(windows.window('other').used(1), 0);
});

test('idle windows are dropped and busy ones kept', (t) => {
  const windows = new WindowSet(10, () => new SlidingWindow());
  windows.window('early').add(0);
  windows.window('late').add(50_000);
  windows.dropIdle(70_000);
  t.is(windows.peek('early'), undefined);
  t.is(windows.peek('late')?.used(70_000), 1);
  t.is(windows.size, 1);
});

test('the number of windows is bounded, and the least recently used goes first', (t) => {
  const windows = new WindowSet(3, () => new SlidingWindow());
  for (const name of ['a', 'b', 'c']) windows.window(name).add(0);
  windows.window('a');
  windows.window('d').add(0);
  t.is(windows.size, 3);
  t.is(windows.peek('b'), undefined);
  t.truthy(windows.peek('a'));
});
