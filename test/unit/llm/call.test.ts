import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import {
  CircuitBreakers,
  inputTokens,
  outputTokens,
  VendorPools,
  type AttemptReport,
} from '../../../src/llm/index.js';
import { systemTime } from '../../../cluster/index.js';
import { breakerLimits } from '../../../src/llm/routing/circuit-breakers.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { call, target, type Finished } from '../../support/servers/vendors/call-harness.js';
import { GeminiServer } from '../../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';
import type { VendorServer } from '../../support/servers/vendors/vendor-server.js';

const vendors: readonly (readonly [string, string, () => VendorServer])[] = [
  ['openai', 'openai.gpt-4.1-mini', () => new OpenAiServer()],
  ['anthropic', 'anthropic.claude-haiku-4-5', () => new AnthropicServer()],
  ['google', 'google.gemini-2.5-flash', () => new GeminiServer()],
  ['xai', 'xai.grok-4-1-fast-non-reasoning', () => new OpenAiServer('xai')],
  ['openrouter', 'openrouter.openai/gpt-5', () => new OpenAiServer('openrouter')],
];

async function started(t: ExecutionContext, server: VendorServer): Promise<VendorServer> {
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

function billOf(reports: readonly AttemptReport[]): { input: number; output: number } {
  return reports.reduce(
    (sum, { usage }) => ({
      input: sum.input + inputTokens(usage),
      output: sum.output + outputTokens(usage),
    }),
    { input: 0, output: 0 },
  );
}

function failureOf(finished: Finished): string | undefined {
  return finished.outcome.error?.failure;
}

for (const [vendor, model, make] of vendors) {
  for (const stream of [true, false]) {
    const how = stream ? 'streamed' : 'whole';
    test(`${vendor}: a ${how} answer arrives complete, and its usage is the vendor's bill`, async (t) => {
      const server = await started(t, make());
      server.script({ thinking: ['let me', ' think'], pieces: ['Hello', ' world'] });
      const done = await call([target(model, server)], { request: { stream } });
      t.is(done.outcome.kind, 'completed');
      t.is(done.answer.text, 'Hello world');
      t.is(done.answer.stop, 'stop');
      t.is(done.events.at(-1)?.type, 'stop');
      t.is(done.reports.length, 1);
      t.is(done.reports[0]?.usage.source, 'reported');
      t.deepEqual(billOf(done.reports), server.billed);
      if (vendor === 'openrouter') t.is(done.reports[0]?.usage.vendorCost, 0.00042);
    });
  }

  test(`${vendor}: tool calls keep their order, ids and arguments`, async (t) => {
    const server = await started(t, make());
    const args = vendor === 'google' ? ['{"city":"Rome"}'] : ['{"city":', '"Rome"}'];
    const toolCalls = [
      { id: 'call_a', name: 'weather', args },
      { id: 'call_b', name: 'time', args },
    ];
    for (const stream of [true, false]) {
      server.script({ toolCalls });
      const tools = [{ name: 'weather', parameters: { type: 'object' } }];
      const done = await call([target(model, server)], { request: { stream, tools } });
      t.is(done.answer.stop, 'tool_calls');
      t.deepEqual(
        done.answer.toolCalls.map(({ name, arguments: written }) => [name, JSON.parse(written)]),
        [
          ['weather', { city: 'Rome' }],
          ['time', { city: 'Rome' }],
        ],
      );
      if (vendor !== 'google') {
        t.deepEqual(
          done.answer.toolCalls.map(({ id }) => id),
          ['call_a', 'call_b'],
        );
      }
    }
  });

  test(`${vendor}: a refused key is not retried, and its text is not returned`, async (t) => {
    const server = await started(t, make());
    server.keys.add('another key');
    const done = await call([target(model, server)]);
    t.is(failureOf(done), 'credential');
    t.is(server.requests.length, 1);
    t.false(JSON.stringify(done.outcome.error?.message).includes('planted'));
    t.deepEqual(billOf(done.reports), { input: 0, output: 0 });
  });

  test(`${vendor}: a vendor failure is retried once, and the caller sees no switch`, async (t) => {
    const server = await started(t, make());
    server.script({ status: 500 });
    const done = await call([target(model, server)]);
    t.is(done.outcome.kind, 'completed');
    t.is(done.answer.text, 'Hello world');
    t.deepEqual(
      done.reports.map(({ outcome, number }) => [number, outcome]),
      [
        [1, 'failed'],
        [2, 'completed'],
      ],
    );
    t.is(done.events.filter(({ type }) => type === 'start').length, 1);
  });

  test(`${vendor}: an error inside a good status before any content counts as one before it`, async (t) => {
    const server = await started(t, make());
    server.script({ pieces: ['never'], failAfter: 0 });
    const done = await call([target(model, server)]);
    t.is(done.outcome.kind, 'completed');
    t.is(done.answer.text, 'Hello world');
    t.is(done.reports[0]?.error?.failure, 'overload');
    t.is(done.events.filter(({ type }) => type === 'start').length, 1);
  });

  test(`${vendor}: after content there is no other attempt, only an error`, async (t) => {
    const server = await started(t, make());
    server.script({ pieces: ['one', 'two', 'three'], failAfter: 2 });
    const done = await call([target(model, server), target(model, server, { id: 'second' })]);
    t.is(done.outcome.kind, 'failed');
    t.true(done.outcome.answering);
    t.is(done.answer.text, 'onetwo');
    t.is(server.requests.length, 1);
  });

  test(`${vendor}: a connection that breaks during the answer is an error, one before it a retry`, async (t) => {
    const server = await started(t, make());
    server.script({ pieces: ['one', 'two'], cutAfter: 1 }, { pieces: ['never'], cutAfter: 0 });
    const cut = await call([target(model, server)]);
    t.is(failureOf(cut), 'transport');
    t.is(cut.answer.text, 'one');
    const again = await call([target(model, server)]);
    t.is(again.answer.text, 'Hello world');
    t.is(again.reports.length, 2);
  });

  test(`${vendor}: nonsense with a good status is a typed error and retried once`, async (t) => {
    const server = await started(t, make());
    const garbage = 'data: {"this is": not json\n\ndata: 42\n\n<html>';
    server.script({ garbage }, { garbage }, { garbage }, { garbage });
    const streamed = await call([target(model, server)]);
    t.is(failureOf(streamed), 'nonsense');
    t.is(streamed.reports.length, 2);
    const whole = await call([target(model, server)], { request: { stream: false } });
    t.is(failureOf(whole), 'nonsense');
  });

  test(`${vendor}: a stream without its last event is cut off or complete, never silent`, async (t) => {
    const server = await started(t, make());
    server.script({ pieces: ['one', 'two'], omitTerminator: true });
    const done = await call([target(model, server)]);
    t.is(done.answer.text, 'onetwo');
    // Only the last event of this vendor names a reason to stop.
    if (vendor === 'google') t.is(failureOf(done), 'transport');
    else t.is(done.outcome.kind, 'completed');
  });
}

test('a complete answer without usage is estimated by its text, whatever bound was asked for', async (t) => {
  const server = await started(t, new OpenAiServer());
  const head = { id: 'c', created: 1, model: 'gpt-4.1' };
  const whole = { index: 0, message: { role: 'assistant', content: 'Hello world' }, finish_reason: 'stop' };
  const piece = { index: 0, delta: { content: 'Hello world' }, finish_reason: 'stop' };
  const forms = [
    [false, JSON.stringify({ ...head, object: 'chat.completion', choices: [whole] })],
    [true, `data: ${JSON.stringify({ ...head, choices: [piece] })}\n\ndata: [DONE]\n\n`],
  ] as const;
  for (const [stream, garbage] of forms) {
    for (const bound of [{}, { maxTokens: 4_000 }]) {
      server.script({ garbage });
      const done = await call([target('openai.gpt-4.1', server)], { request: { stream, ...bound } });
      t.is(done.answer.text, 'Hello world');
      const usage = done.reports[0]?.usage;
      t.is(usage?.source, 'estimated');
      t.is(usage === undefined ? undefined : outputTokens(usage), 3, stream ? 'streamed' : 'whole');
    }
  }
});

test('an answer whose connection stays open after the last event ends at once', async (t) => {
  const openai = await started(t, new OpenAiServer());
  const anthropic = await started(t, new AnthropicServer());
  openai.script({ pieces: ['done'], staysOpen: true });
  anthropic.script({ pieces: ['done'], staysOpen: true });
  for (const each of [target('openai.gpt-4.1', openai), target('anthropic.claude-haiku-4-5', anthropic)]) {
    const done = await call([each], { limits: { firstSignalMs: 20_000, idleMs: 20_000, callMs: 20_000 } });
    t.is(done.outcome.kind, 'completed');
    t.true((done.reports[0]?.durationMs ?? Infinity) < 10_000);
  }
});

test('no error or report contains a secret of any shape that a vendor returns', async (t) => {
  const server = await started(t, new OpenAiServer());
  const secret = 'no key would look like this';
  server.keys.add('another');
  const done = await call([target('openai.gpt-4.1', server, { reveal: () => secret })]);
  const seen = inspect([done.outcome, done.reports], { depth: 10 });
  t.true(server.requests[0]?.key === secret);
  t.true(seen.includes('[REDACTED]'));
  t.false(seen.includes(secret), seen);
});

test('a refused key is replaced by the next one of the same model, never by another model', async (t) => {
  const server = await started(t, new OpenAiServer());
  server.keys.add('good');
  const bad = target('openai.gpt-4.1', server, { id: 'own', payer: 'tenant', reveal: () => 'bad' });
  const good = target('openai.gpt-4.1', server, { id: 'pool', reveal: () => 'good' });
  const other = target('openai.gpt-5', server, { id: 'pool', reveal: () => 'good' });

  const done = await call([bad, good]);
  t.is(done.outcome.kind, 'completed');
  t.deepEqual(
    done.reports.map(({ payer, outcome }) => [payer, outcome]),
    [
      ['tenant', 'failed'],
      ['platform', 'completed'],
    ],
  );
  const refused = await call([bad, other]);
  t.is(failureOf(refused), 'credential');
});

test("an answer that the model's own error ends before its first text is tried again, then elsewhere", async (t) => {
  const google = await started(t, new GeminiServer());
  const other = await started(t, new AnthropicServer());
  const file = new URL('../../../../test/fixtures/llm/google/malformed-function-call.sse', import.meta.url);
  google.byDefault({ garbage: readFileSync(file, 'utf8') });
  const malformed = target('google.gemini-2.5-flash', google);
  const breakers = new CircuitBreakers();
  for (let round = 0; round < breakerLimits.failuresMax; round += 1) {
    const alone = await call([malformed], { ports: { breakers } });
    t.is(failureOf(alone), 'nonsense');
    t.is(alone.outcome.error?.code, 'MALFORMED_FUNCTION_CALL');
    t.is(alone.reports.length, 2);
    for (const { usage, stop } of alone.reports) {
      t.like(usage, { inputUncached: 40, reasoning: 12, outputVisible: 0, source: 'reported' });
      t.is(stop, 'error');
    }
  }
  t.is(breakers.open(0).size, 0, 'the prompt of one caller closes the vendor to nobody');
  const chain = await call([malformed, target('anthropic.claude-haiku-4-5', other)]);
  t.is(chain.answer.text, 'Hello world');
  t.is(chain.outcome.kind, 'completed');
});

test('a call whose deadline has passed leaves the probe of a breaker to the next call', async (t) => {
  const server = await started(t, new OpenAiServer());
  const breakers = new CircuitBreakers();
  const now = systemTime.monotonicMs();
  const openedAtMs = now - breakerLimits.openMs - 1;
  for (let nth = 0; nth < breakerLimits.failuresMax; nth += 1) {
    breakers.failed('openai', 'openai-key', openedAtMs);
  }
  const late = await call([target('openai.gpt-4.1', server)], {
    turnDeadlineMs: now - 1,
    ports: { breakers },
  });
  t.deepEqual([failureOf(late), late.outcome.error?.clock, late.reports.length], ['timeout', 'turn', 0]);
  t.true(breakers.admits('openai', 'openai-key', systemTime.monotonicMs()));
});

test('a used-up account never switches the model', async (t) => {
  const server = await started(t, new OpenAiServer());
  const other = await started(t, new AnthropicServer());
  const error = {
    error: {
      message: 'You exceeded your current quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  };
  server.errorBody = () => error;
  server.script({ status: 429 });
  const done = await call([target('openai.gpt-4.1', server), target('anthropic.claude-haiku-4-5', other)]);
  t.is(failureOf(done), 'exhausted');
  t.is(server.requests.length, 1);
  t.is(other.requests.length, 0);
});

test('too many requests switch to the next model of a chain, or wait as long as requested', async (t) => {
  const server = await started(t, new OpenAiServer());
  const other = await started(t, new AnthropicServer());
  server.script({ status: 429, headers: { 'retry-after': '30' } });
  const chain = await call([target('openai.gpt-4.1', server), target('anthropic.claude-haiku-4-5', other)]);
  t.is(chain.outcome.kind, 'completed');
  t.is(chain.reports.at(-1)?.target.model.vendor, 'anthropic');

  server.script({ status: 429, headers: { 'retry-after-ms': '200' } });
  const direct = await call([target('openai.gpt-4.1', server)]);
  t.is(direct.outcome.kind, 'completed');
  const [first, second] = direct.reports;
  t.true((second?.startedAtMs ?? 0) - (first?.startedAtMs ?? 0) >= 200);

  server.script({ status: 429, headers: { 'retry-after': '3600' } });
  const hopeless = await call([target('openai.gpt-4.1', server)]);
  t.is(failureOf(hopeless), 'rate');
  t.is(hopeless.outcome.error?.retryAfterMs, 3_600_000);
});

test('a refusal by the platform before an attempt ends the call without a vendor request', async (t) => {
  const server = await started(t, new OpenAiServer());
  const refusal = new Error('quota');
  await t.throwsAsync(
    call([target('openai.gpt-4.1', server)], {
      ports: { beforeAttempt: () => Promise.reject(refusal) },
    }),
    { is: refusal },
  );
  t.is(server.requests.length, 0);
});

test('no completion is sent before the attempt is recorded', async (t) => {
  const server = await started(t, new OpenAiServer());
  const order: string[] = [];
  await call([target('openai.gpt-4.1', server)], {
    ports: {
      afterAttempt: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push('booked');
      },
    },
    onBatch: (batch) => {
      for (const { type } of batch) if (type === 'usage' || type === 'stop') order.push(type);
    },
  });
  t.deepEqual(order, ['booked', 'usage', 'stop']);
});

test('a repeatedly failing vendor is skipped while another target exists, and asked if none does', async (t) => {
  const broken = await started(t, new OpenAiServer());
  const sound = await started(t, new AnthropicServer());
  broken.byDefault({ status: 500 });
  const pools = new VendorPools();
  t.teardown(() => pools.close());
  const ports = { breakers: new CircuitBreakers(), pools };
  const plan = [target('openai.gpt-4.1', broken), target('anthropic.claude-haiku-4-5', sound)];
  for (let round = 0; round < 8; round += 1) await call(plan, { ports });
  const before = broken.requests.length;
  const done = await call(plan, { ports });
  t.is(done.outcome.kind, 'completed');
  t.is(broken.requests.length, before);
  const alone = await call(plan.slice(0, 1), { ports });
  t.is(failureOf(alone), 'overload');
  t.true(broken.requests.length > before);
});
