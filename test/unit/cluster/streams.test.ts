import test from 'ava';
import { Outflow } from '../../../cluster/streams/outflow.js';
import { ReplyStream, type StreamEnd } from '../../../cluster/streams/reply-stream.js';

/** A producer and a reader connected in this process; each message costs one credit. */
function joined(source: AsyncIterator<number>, window: number) {
  const ends: StreamEnd[] = [];
  const reader = new ReplyStream<number>(
    window,
    { grant: (amount) => outflow.grant(amount), cancel: () => outflow.cancel(undefined) },
    (end) => ends.push(end),
  );
  const outflow = new Outflow<number>(
    source,
    {
      item(value) {
        reader.push(value, 1);
        return 1;
      },
      end: (error) => reader.finish(error === undefined ? undefined : new Error('failed', { cause: error })),
    },
    window,
  );
  return { reader, outflow, ends, done: outflow.run() };
}

test('messages arrive in order and the stream ends once, as completed', async (t) => {
  async function* numbers() {
    for (let index = 0; index < 100; index += 1) yield index;
  }
  const { reader, outflow, ends } = joined(numbers(), 8);
  const seen: number[] = [];
  for await (const value of reader) seen.push(value);
  t.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => index),
  );
  outflow.cancel(new Error('too late'));
  reader.finish(new Error('too late'));
  t.deepEqual(ends, [{ how: 'completed' }]);
});

test('a reader that does not read pauses the producer when its credit is used up', async (t) => {
  let made = 0;
  async function* endless() {
    for (;;) {
      made += 1;
      yield made;
    }
  }
  const { reader, done } = joined(endless(), 8);
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  t.is(made, 8);
  t.is(reader.buffered, 8);
  for (let index = 0; index < 4; index += 1) await reader.next();
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  t.is(made, 12);
  reader.cancel();
  await done;
});

test('leaving the reader loop stops the producer and runs its clean-up', async (t) => {
  const { endless, hasCleanedUp } = endlessSource();
  const { reader, ends, done } = joined(endless(), 4);
  for await (const value of reader) if (value === 2) break;
  await done;
  t.true(hasCleanedUp());
  t.deepEqual(ends, [{ how: 'cancelled' }]);
  t.deepEqual(await reader.next(), { done: true, value: undefined });
});

test('a failure of the producer reaches the reader after the messages sent before it', async (t) => {
  async function* failing() {
    yield 1;
    throw new RangeError('boom');
  }
  const { reader, ends } = joined(failing(), 4);
  t.deepEqual(await reader.next(), { done: false, value: 1 });
  await t.throwsAsync(() => reader.next(), { message: 'failed' });
  t.is(ends.length, 1);
  t.is(ends[0]?.how, 'failed');
});

test('a message larger than the whole credit is sent, and the next waits until it is read', async (t) => {
  const costs: number[] = [];
  async function* two() {
    yield 100;
    yield 100;
  }
  const outflow = new Outflow<number>(
    two(),
    {
      item(value) {
        costs.push(value);
        return value;
      },
      end: () => costs.push(-1),
    },
    10,
  );
  const done = outflow.run();
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  t.deepEqual(costs, [100]);
  outflow.grant(100);
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  t.deepEqual(costs, [100, 100]);
  outflow.grant(100);
  await done;
  t.deepEqual(costs, [100, 100, -1]);
});

test('a message that the sink refuses ends the stream, and the source runs its clean-up', async (t) => {
  const { endless, hasCleanedUp } = endlessSource();
  const refused = new Error('too large');
  const ends: unknown[] = [];
  const outflow = new Outflow<number>(
    endless(),
    {
      item(value) {
        if (value === 2) throw refused;
        return 1;
      },
      end: (error) => ends.push(error),
    },
    10,
  );
  await outflow.run();
  t.deepEqual(ends, [refused]);
  t.true(hasCleanedUp());
});

test('a second reader of one stream is refused', async (t) => {
  const reader = new ReplyStream<number>(4, { grant: () => {}, cancel: () => {} });
  const first = reader.next();
  await t.throwsAsync(() => reader.next(), { message: /one pending next/ });
  reader.push(7, 1);
  t.deepEqual(await first, { done: false, value: 7 });
});

/** A source without end, and whether its clean-up has run. */
function endlessSource() {
  let cleaned = false;
  async function* endless() {
    try {
      for (let index = 0; ; index += 1) yield index;
    } finally {
      cleaned = true;
    }
  }
  return { endless, hasCleanedUp: () => cleaned };
}
