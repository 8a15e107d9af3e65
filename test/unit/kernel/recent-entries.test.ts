import test from 'ava';
import { recentEntries } from '../../../src/kernel/recent-entries.js';

test('the least recently used entry makes room for a new one', (t) => {
  const dropped: string[] = [];
  const entries = recentEntries<number>(2, { dispose: (_, key) => void dropped.push(key) });
  entries.set('a', 1).set('b', 2);
  t.is(entries.get('a'), 1);
  entries.set('c', 3);
  t.deepEqual([...entries.keys()], ['c', 'a']);
  t.deepEqual(dropped, ['b']);
});

test('an entry ends with its time to live', (t) => {
  let nowMs = 1;
  const entries = recentEntries<number>(2, { ttl: 10, ttlResolution: 0, perf: { now: () => nowMs } });
  entries.set('a', 1);
  nowMs = 11;
  t.is(entries.get('a'), 1);
  nowMs = 12;
  t.is(entries.get('a'), undefined);
});

test('an empty one takes no memory for the entries that it may hold', (t) => {
  const before = process.memoryUsage();
  const kept = Array.from({ length: 20 }, () => recentEntries<number>(1_000_000));
  const after = process.memoryUsage();
  t.is(kept.length, 20);
  // With `max` it is 24 MB for each.
  t.true(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers < 20_000_000);
});
