import test from 'ava';
import type { StreamWriter } from '../../../src/http/operations/index.js';
import { UnsentFrames } from '../../../src/mcp/unsent-frames.js';
import { eventually } from '../../support/clocks/eventually.js';

/** A stream whose frames the test makes, and a client that takes the first one and reads no more. */
function stalled() {
  const seen = { written: 0, cut: 0, left: 0, cancelled: 0 };
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: () => void (seen.cancelled += 1),
  });
  const gone = new AbortController();
  let resume = (): void => undefined;
  const writer: StreamWriter = {
    gone: gone.signal,
    write: () => {
      seen.written += 1;
      return false;
    },
    drained: () => new Promise((resolve) => (resume = resolve)),
    cut: () => {
      seen.cut += 1;
      gone.abort();
      resume();
    },
  };
  const unsent = new UnsentFrames();
  const run = unsent.of(body, () => void (seen.left += 1));
  return {
    seen,
    unsent,
    writer,
    run,
    make: (bytes: number) => controller?.enqueue(new Uint8Array(bytes)),
    end: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
    resume: () => resume(),
    leave: () => {
      gone.abort();
      resume();
    },
  };
}

const megabyte = 1_048_576;

test('a client that is more than a megabyte behind is cut off, and the work for it ends', async (t) => {
  const { seen, unsent, writer, run, make } = stalled();
  const ran = run(writer);
  make(megabyte);
  await eventually(() => unsent.isBehind);
  const taken = unsent.taken();
  make(1);
  make(1);
  await ran;
  await taken;
  t.like(seen, { written: 1, left: 1, cancelled: 1 });
  t.true(seen.cut > 0);
  t.false(unsent.isBehind);
});

test('it is cut off too if it falls behind before its stream is open', async (t) => {
  const { seen, writer, run, make } = stalled();
  for (let count = 0; count < 4; count += 1) make(megabyte);
  await eventually(() => seen.left === 1);
  await run(writer);
  t.like(seen, { written: 0, cut: 1 });
});

test('one result may be larger', async (t) => {
  const { seen, writer, run, make, end, resume } = stalled();
  const ran = run(writer);
  make(100);
  make(4 * megabyte);
  end();
  await eventually(() => seen.written === 1);
  resume();
  await eventually(() => seen.written === 2);
  resume();
  await ran;
  t.like(seen, { cut: 0, left: 0 });
});

test('whoever waits for the client learns that it took all frames, and not before', async (t) => {
  const { seen, unsent, writer, run, make, end, resume } = stalled();
  const ran = run(writer);
  await unsent.taken();
  make(1);
  make(1);
  await eventually(() => unsent.isBehind);
  let isTaken = false;
  const taken = unsent.taken().then(() => (isTaken = true));
  resume();
  await eventually(() => seen.written === 2);
  t.false(isTaken);
  resume();
  await taken;
  t.false(unsent.isBehind);
  end();
  await ran;
});

test('a client that leaves ends the work, and nobody waits for it any more', async (t) => {
  const { seen, unsent, writer, run, make, leave } = stalled();
  const ran = run(writer);
  make(1);
  await eventually(() => unsent.isBehind);
  const taken = unsent.taken();
  leave();
  await ran;
  await taken;
  t.like(seen, { left: 1, cancelled: 1 });
});

test('a stream that fails fails its answer after what came before', async (t) => {
  const { seen, writer, run, make, fail, resume } = stalled();
  const ran = run(writer);
  make(1);
  await eventually(() => seen.written === 1);
  fail(new Error('broken'));
  resume();
  await t.throwsAsync(ran, { message: 'broken' });
});
