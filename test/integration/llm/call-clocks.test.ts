import test, { type ExecutionContext } from 'ava';
import { CircuitBreakers, Observations, VendorPools, type CallLimits } from '../../../src/llm/index.js';
import { breakerLimits } from '../../../src/llm/routing/circuit-breakers.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ManualTime } from '../../support/clocks/manual-time.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import {
  call,
  type CallOptions,
  simTarget,
  target,
  type Finished,
} from '../../support/servers/vendors/call-harness.js';
import { GeminiServer } from '../../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';
import type { Script, VendorServer } from '../../support/servers/vendors/vendor-server.js';

// One after the other: each test here measures time, and would measure its neighbours' too.
const roomy = 20_000;
const openai = 'openai.gpt-4.1-mini';
const claude = 'anthropic.claude-haiku-4-5';

async function started<Kind extends VendorServer>(t: ExecutionContext, server: Kind): Promise<Kind> {
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

function limits(short: Partial<CallLimits>): CallLimits {
  return { firstSignalMs: roomy, idleMs: roomy, callMs: roomy, ...short };
}

/** Kept open after the call, so that only the call itself can have closed a vendor's socket. */
function keptPools(t: ExecutionContext): { pools: VendorPools } {
  const pools = new VendorPools();
  t.teardown(() => pools.close());
  return { pools };
}

/** A call whose clocks the test moves; its vendors are real servers. */
function callByHand(
  t: ExecutionContext,
  targets: Parameters<typeof call>[0],
  options: CallOptions,
): { readonly time: ManualTime; readonly ended: () => number; readonly done: Promise<Finished> } {
  const time = new ManualTime('2026-11-01T00:00:00Z');
  let ended = 0;
  const ports = { ...keptPools(t), time, afterAttempt: async () => void (ended += 1) };
  return { time, ended: () => ended, done: call(targets, { ...options, ports }) };
}

test.serial('a missing first signal is retried once on the same model, and never on another', async (t) => {
  const server = await started(t, new OpenAiServer());
  const other = await started(t, new AnthropicServer());
  server.script({ hangAfter: 0 }, { hangBeforeHeaders: true });
  const { time, ...running } = callByHand(t, [target(openai, server), target(claude, other)], {
    limits: limits({ firstSignalMs: 1_000 }),
  });
  await eventually(() => server.requests.length === 1, { what: 'the first attempt' });
  time.advance(999);
  time.advance(1);
  await eventually(() => server.requests.length === 2, { what: 'the second attempt' });
  time.advance(1_000);
  const done = await running.done;
  t.deepEqual(
    done.reports.map(({ durationMs }) => durationMs),
    [1_000, 1_000],
  );
  t.is(done.outcome.kind, 'failed');
  t.is(done.outcome.error?.failure, 'timeout');
  t.is(done.outcome.error?.clock, 'first_signal');
  t.is(server.requests.length, 2);
  t.is(other.requests.length, 0);
  await eventually(() => server.requests.every(({ leftAtMs }) => leftAtMs !== undefined));
});

test.serial('a role, a message start and pings are not a first signal', async (t) => {
  for (const server of [new OpenAiServer(), new AnthropicServer()]) {
    await started(t, server);
    server.script({ hangAfter: 0, pingsWhileHanging: true }, { pieces: ['late'] });
    const model = server instanceof OpenAiServer ? openai : claude;
    const done = await call([target(model, server)], { limits: limits({ firstSignalMs: 2000 }) });
    t.is(done.answer.text, 'late');
    t.is(done.reports[0]?.error?.clock, 'first_signal');
    t.is(done.events.filter(({ type }) => type === 'start').length, 1);
  }
});

test.serial('silence during an answer ends the call by the idle clock, also with pings', async (t) => {
  const server = await started(t, new AnthropicServer());
  server.script({ pieces: ['one', 'two'], hangAfter: 1, pingsWhileHanging: true });
  const done = await call([target(claude, server), target(claude, server, { id: 'other' })], {
    limits: limits({ idleMs: 200 }),
  });
  t.is(done.outcome.error?.clock, 'idle');
  t.is(done.answer.text, 'one');
  t.is(server.requests.length, 1);
});

test.serial('a steady answer outlives the first-signal and idle limits many times', async (t) => {
  const server = await started(t, new OpenAiServer());
  server.script({ pieces: Array.from({ length: 30 }, (_, index) => ` ${index}`), pieceDelayMs: 100 });
  const done = await call([target(openai, server)], {
    limits: limits({ firstSignalMs: 2000, idleMs: 2000 }),
  });
  t.is(done.outcome.kind, 'completed');
  t.true((done.reports[0]?.durationMs ?? 0) > 2000);
});

test.serial('the call clock ends all attempts together', async (t) => {
  const server = await started(t, new OpenAiServer());
  server.script({ status: 500 }, { pieces: ['a', 'b'], hangAfter: 1 });
  let pieces = 0;
  const { time, ended, ...running } = callByHand(t, [target(openai, server)], {
    limits: limits({ callMs: 3_000 }),
    onBatch: (batch) => void (pieces += batch.filter(({ type }) => type === 'content').length),
  });
  await eventually(() => ended() === 1 && time.pending > 0, { what: 'the pause before the retry' });
  const pauseMostMs = 200;
  time.advance(pauseMostMs);
  await eventually(() => pieces === 1, { what: 'the second attempt has begun its answer' });
  time.advance(3_000 - pauseMostMs);
  const done = await running.done;
  t.is(done.outcome.error?.clock, 'call');
  t.is(done.reports.length, 2);
  const { durationMs = 0 } = done.reports[1] ?? {};
  t.true(durationMs >= 3_000 - pauseMostMs && durationMs < 3_000, 'the second has the rest of the time');
});

const cuts = [
  ['the time of their turns is up before the first piece', { hangAfter: 0 }, 'turn', 0],
  ['the time of their turns is up during the answer', { pieces: ['a', 'b'], hangAfter: 1 }, 'turn', 0],
  ['the time of the calls is up during the answer', { pieces: ['a', 'b'], hangAfter: 1 }, 'call', 0],
  ['no first piece comes', { hangAfter: 0 }, 'first_signal', 1],
  ['the answer falls silent', { pieces: ['a', 'b'], hangAfter: 1 }, 'idle', 1],
] as const;

for (const [cause, script, clock, open] of cuts) {
  test.serial(`breaker and observations after calls that end since ${cause}`, async (t) => {
    const server = await started(t, new OpenAiServer());
    server.byDefault(script);
    const time = new ManualTime('2026-11-01T00:00:00Z');
    const ports = {
      ...keptPools(t),
      time,
      breakers: new CircuitBreakers(),
      observations: new Observations(),
    };
    const cutMs = 1_000;
    const short = { first_signal: 'firstSignalMs', idle: 'idleMs', call: 'callMs', turn: undefined }[clock];
    let pieces = 0;
    const calls = Array.from({ length: breakerLimits.failuresMax }, () =>
      call([target(openai, server)], {
        ports,
        limits: limits(short === undefined ? {} : { [short]: cutMs }),
        ...(clock === 'turn' && { turnDeadlineMs: time.monotonicMs() + cutMs }),
        onBatch: (batch) => void (pieces += batch.filter(({ type }) => type === 'content').length),
      }),
    );
    const begun =
      'pieces' in script ? () => pieces === calls.length : () => server.requests.length === calls.length;
    await eventually(begun, { what: 'every call has begun' });
    time.advance(cutMs);
    if (clock === 'first_signal') {
      await eventually(() => server.requests.length === 2 * calls.length, { what: 'the second attempts' });
      time.advance(cutMs);
    }
    for (const done of await Promise.all(calls)) t.is(done.outcome.error?.clock, clock);
    t.is(ports.breakers.open(time.monotonicMs()).get('openai') ?? 0, open);
    t.is(ports.observations.of(openai, time.monotonicMs()).failureRate > 0, open > 0);
  });
}

test.serial('an answer that is not streamed has no first-signal clock, only the call clock', async (t) => {
  const server = await started(t, new OpenAiServer());
  server.script({ hangBeforeHeaders: true });
  const { time, ...running } = callByHand(t, [target(openai, server)], {
    request: { stream: false },
    limits: limits({ firstSignalMs: 50, callMs: 2_000 }),
  });
  await eventually(() => server.requests.length === 1, { what: 'the request' });
  time.advance(1_999);
  time.advance(1);
  const done = await running.done;
  t.is(done.reports[0]?.durationMs, 2_000, 'not a millisecond earlier');
  t.is(done.outcome.error?.clock, 'call');
  t.is(done.reports.length, 1);
  // Its vendor bills it whole, so it is never booked with nothing.
  t.is(done.reports[0]?.usage.source, 'estimated');
  t.true((done.reports[0]?.usage.outputVisible ?? 0) > 0);
});

const leavers: readonly (readonly [string, string, VendorServer])[] = [
  ['openai', openai, new OpenAiServer()],
  ['anthropic', claude, new AnthropicServer()],
  ['google', 'google.gemini-2.5-flash', new GeminiServer()],
];

const tickMs = 20;

/**
 * Leaves after five pieces, and tells how often a timer fired until the vendor saw its socket closed. The vendor is in
 * this process: where the machine is busy, timers and sockets wait alike, and a clock on the wall would count it.
 */
async function leave(
  t: ExecutionContext,
  model: string,
  server: VendorServer,
  more: Script,
): Promise<{ done: Finished; ticks: number }> {
  server.script({ pieces: Array.from({ length: 500 }, () => ' word'), pieceDelayMs: tickMs, ...more });
  const asked = server.requests.length;
  const leaving = new AbortController();
  let pieces = 0;
  let ticks = 0;
  let timer: NodeJS.Timeout | undefined;
  const done = await call([target(model, server)], {
    signal: leaving.signal,
    ports: keptPools(t),
    limits: limits({}),
    onBatch: (batch) => {
      pieces += batch.filter(({ type }) => type === 'content').length;
      if (pieces < 5 || timer !== undefined) return;
      timer = setInterval(() => {
        if (server.requests[asked]?.leftAtMs === undefined) ticks += 1;
      }, tickMs);
      // The received data has been read: the call waits for the vendor again.
      setImmediate(() => leaving.abort());
    },
  });
  await eventually(() => server.requests[asked]?.leftAtMs);
  clearInterval(timer);
  return { done, ticks };
}

for (const [vendor, model, server] of leavers) {
  test.serial(
    `${vendor}: a leaving caller closes the vendor's socket within 100 ms, also while it is silent, and the usage is recorded`,
    async (t) => {
      await started(t, server);
      for (const [how, more] of [
        ['between pieces', {}],
        ['in silence', { hangAfter: 5 }],
      ] as const) {
        const { done, ticks } = await leave(t, model, server, more);
        t.true(ticks <= 100 / tickMs, `${how}: closed after ${ticks} ticks of ${tickMs} ms`);
        t.is(done.outcome.kind, 'cancelled');
        const usage = done.reports[0]?.usage;
        t.is(usage?.source, 'estimated');
        t.true((usage?.inputUncached ?? 0) > 0);
        // If leaving does not stop the bill, the ledger records the answer as if it had continued.
        t.true((usage?.outputVisible ?? 0) >= (vendor === 'google' ? 1000 : 5));
        t.true((usage?.outputVisible ?? 0) <= (vendor === 'google' ? 1000 : 100));
      }
    },
  );
}

test.serial(
  'a caller who leaves during a wait or before the first piece is recorded once and gets nothing more',
  async (t) => {
    const server = await started(t, new OpenAiServer());
    server.script({ status: 429, headers: { 'retry-after': '15' } });
    const waiting = new AbortController();
    const first = call([target(openai, server)], {
      signal: waiting.signal,
      ports: { afterAttempt: async () => void setImmediate(() => waiting.abort()) },
    });
    t.is((await first).outcome.kind, 'cancelled');

    const gone = AbortSignal.abort();
    const second = await call([target(openai, server)], { signal: gone });
    t.is(second.outcome.kind, 'cancelled');
    t.is(second.reports.length, 1);
    t.is(second.reports[0]?.usage.inputUncached, 0);
    t.is(server.requests.length, 1);
  },
);

test.serial(
  'a slow reader slows the vendor, fills no memory, and does not trigger the idle clock',
  async (t) => {
    const server = await started(t, new OpenAiServer());
    const piece = 'x'.repeat(4096);
    server.script({ pieces: Array.from({ length: 4000 }, () => piece) });
    let batches = 0;
    let largest = 0;
    const done = await call([target(openai, server)], {
      limits: limits({ idleMs: 1500 }),
      onBatch: async (batch) => {
        batches += 1;
        largest = Math.max(largest, batch.length);
        if (batches === 2) await new Promise((resolve) => setTimeout(resolve, 3000));
      },
    });
    t.is(done.outcome.kind, 'completed');
    t.is(done.answer.text.length, 4000 * piece.length);
    t.true(largest < 2000, `${largest} pieces waited at once`);
  },
);

test.serial('pieces of one socket read arrive together', async (t) => {
  const server = await started(t, new OpenAiServer());
  server.script({ pieces: Array.from({ length: 400 }, (_, index) => ` ${index}`) });
  const done = await call([target(openai, server)]);
  t.true(done.batches.length < 100, `${done.batches.length} batches for 400 pieces`);
});

test.serial('the sim vendor follows the clocks and leaving callers like any other', async (t) => {
  const slow = await call([simTarget('sim.lorem-3-400')], { limits: limits({ idleMs: 100 }) });
  t.is(slow.outcome.error?.clock, 'idle');
  const leaving = new AbortController();
  const left = await call([simTarget('sim.lorem-1000-20')], {
    signal: leaving.signal,
    onBatch: () => leaving.abort(),
  });
  t.is(left.outcome.kind, 'cancelled');
});
