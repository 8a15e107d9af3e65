import { setImmediate as turnOfLoop } from 'node:timers/promises';
import test from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

interface Modules {
  keepOpen(read: () => Promise<void>, signal: AbortSignal, clock: object): Promise<void>;
  readonly refusalIn: (response: Response, body: unknown, nowMs: number) => Error;
}

const { keepOpen, refusalIn } = await bundledModules<Modules>(
  'console/src/api/kept-open.ts',
  'client/src/index.ts',
);

/** A stream that does as the test says, and the seconds at which it was read. */
function kept(read: (time: ManualTime) => Promise<void>) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const startMs = time.wallMs();
  const stopping = new AbortController();
  const readAt: number[] = [];
  let isOver = false;
  const clock = {
    nowMs: () => time.wallMs(),
    random: () => 1,
    after: (milliseconds: number, call: () => void) => {
      const timer = time.after(milliseconds, call);
      return () => timer.cancel();
    },
  };
  const once = async (): Promise<void> => {
    readAt.push((time.wallMs() - startMs) / 1_000);
    await read(time);
  };
  void keepOpen(once, stopping.signal, clock).then(() => (isOver = true));
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await turnOfLoop();
      time.advance(1_000);
    }
    await turnOfLoop();
  };
  return { time, stopping, readAt, pass, isOver: () => isOver };
}

test('a stream that ends is read again after pauses that grow up to a minute', async (t) => {
  const { readAt, pass } = kept(async () => {
    throw new SyntaxError('no JSON');
  });
  await pass(240);
  t.deepEqual(readAt, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
  const ended = kept(async () => undefined);
  await ended.pass(4);
  t.deepEqual(ended.readAt, [0, 1, 3]);
});

test('after a stream that went on for a minute, the pauses begin anew', async (t) => {
  const { readAt, pass } = kept(async (time) => {
    if (readAt.length === 4) time.stall(60_000);
    throw new Error('lost');
  });
  await pass(20);
  t.deepEqual(readAt, [0, 1, 3, 7, 68, 70, 74]);
});

test('a refusal of the person, or of what is followed, ends it, and no other one does', async (t) => {
  for (const status of [401, 403, 404]) {
    const { readAt, pass, isOver } = kept(async () => {
      throw refusalIn(new Response(null, { status }), {}, 0);
    });
    await pass(10);
    t.deepEqual(readAt, [0]);
    t.true(isOver());
  }
  const { readAt, pass, isOver } = kept(async () => {
    throw refusalIn(new Response(null, { status: 400 }), {}, 0);
  });
  await pass(3);
  t.deepEqual(readAt, [0, 1, 3]);
  t.false(isOver());
});

test('an abort ends it, also in a pause', async (t) => {
  const { time, stopping, pass, isOver } = kept(async () => {
    throw new Error('lost');
  });
  await pass(1);
  t.is(time.pending, 1);
  stopping.abort();
  await pass(0);
  t.true(isOver());
  t.is(time.pending, 0);
});
