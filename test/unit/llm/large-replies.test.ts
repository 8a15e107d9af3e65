// An answer that exceeds a limit of the platform's own: the vendor did its work, so it is asked once, booked and not blamed.
import { EventStreamCodec } from '@smithy/eventstream-codec';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { bedrockAdapter } from '../../../src/llm/clouds/bedrock/adapter.js';
import {
  adaptersByVendor,
  CircuitBreakers,
  inputTokens,
  Observations,
  outputTokens,
  type LlmRequest,
} from '../../../src/llm/index.js';
import { breakerLimits } from '../../../src/llm/routing/circuit-breakers.js';
import { EventStreamParser } from '../../../src/llm/transport/event-stream-parser.js';
import { shortMembers, usageInLarge } from '../../../src/llm/transport/large-reply.js';
import { TooLargeError } from '../../../src/llm/vendor-error.js';
import { fromChatRequest } from '../../../src/models/compat/openai/from-request.js';
import { systemTime } from '../../../cluster/index.js';
import { call, target } from '../../support/servers/vendors/call-harness.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';

const gpt = 'openai.gpt-4.1';

async function started(t: ExecutionContext): Promise<OpenAiServer> {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  return server;
}

/** The second model must never be asked: it would cost as much again. */
function targetsOf(server: OpenAiServer) {
  return [target(gpt, server), target('openai.gpt-4.1-mini', server)];
}

function probability(of: number): object {
  const token = ` word${of % 97}`;
  return { token, logprob: -0.25, bytes: [...Buffer.from(token)] };
}

function withProbabilities(tokens: number, alternatives: number, more: object): string {
  const content = Array.from({ length: tokens }, (_, at) => ({
    ...probability(at),
    top_logprobs: Array.from({ length: alternatives }, (_each, nth) => probability(at + nth)),
  }));
  return JSON.stringify({
    id: 'c1',
    model: 'gpt-4.1',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'x' },
        finish_reason: 'stop',
        logprobs: { content },
      },
    ],
    ...more,
  });
}

function usageOf(tokens: number): object {
  return { usage: { prompt_tokens: 20, completion_tokens: tokens, total_tokens: 20 + tokens } };
}

function askedWith(fields: Readonly<Record<string, unknown>>): LlmRequest {
  return fromChatRequest({ model: gpt, messages: [{ role: 'user', content: 'hi' }], ...fields }).request;
}

test('log probabilities of an answer of ordinary length are read, with all their alternatives', async (t) => {
  const server = await started(t);
  server.byDefault({ garbage: withProbabilities(1_000, 20, usageOf(1_000)) });
  for (const bound of [{}, { max_completion_tokens: 1_000 }]) {
    const request = askedWith({ logprobs: true, top_logprobs: 20, ...bound });
    const done = await call(targetsOf(server), { request });
    t.is(done.outcome.kind, 'completed', done.outcome.error?.message);
    t.is(done.answer.text, 'x');
    t.is(outputTokens(done.reports[0]?.usage ?? t.fail()), 1_000);
  }
  t.is(server.requests.length, 2);
});

test('a reply with too many values is asked for once, booked by its usage, and moves no breaker', async (t) => {
  const server = await started(t);
  server.byDefault({ garbage: withProbabilities(400, 20, usageOf(400)) });
  const breakers = new CircuitBreakers();
  const observations = new Observations();
  for (let round = 1; round <= breakerLimits.failuresMax; round += 1) {
    const done = await call(targetsOf(server), {
      // Nothing was asked for that could be so long.
      request: { stream: false },
      ports: { breakers, observations },
    });
    t.is(done.outcome.error?.failure, 'too_large');
    t.regex(
      done.outcome.error?.message ?? '',
      /more than 50000 keys .* ask for less at once, or for a stream/,
    );
    t.is(server.requests.length, round);
    const [report] = done.reports;
    t.like(report?.usage, { inputUncached: 20, outputVisible: 400, source: 'reported' });
  }
  t.deepEqual([...breakers.open(systemTime.monotonicMs())], []);
  t.is(observations.of(gpt, systemTime.monotonicMs()).failureRate, 0);
});

test('a reply that is too large and tells no usage is booked by an estimate', async (t) => {
  const server = await started(t);
  server.byDefault({ garbage: withProbabilities(400, 20, {}) });
  const done = await call(targetsOf(server), { request: { stream: false, maxTokens: 700 } });
  t.is(server.requests.length, 1);
  const [report] = done.reports;
  t.is(report?.usage.source, 'estimated');
  t.true(inputTokens(report?.usage ?? t.fail()) > 0);
  t.is(report?.usage.outputVisible, 700);
});

test('an event that is too large ends the stream: asked once, booked, and no failure of the key', async (t) => {
  const server = await started(t);
  const bytes = `data: ${'x'.repeat(9 * 1024 * 1024)}`;
  const values = `data: ${withProbabilities(400, 20, usageOf(400))}\n\n`;
  const breakers = new CircuitBreakers();
  for (const [nth, garbage] of [bytes, values, bytes, values, bytes].entries()) {
    server.script({ garbage });
    const done = await call(targetsOf(server), { ports: { breakers } });
    t.is(done.outcome.error?.failure, 'too_large');
    t.is(server.requests.length, nth + 1);
    t.is(done.reports[0]?.usage.source, 'estimated');
    t.is(done.reports[0]?.usage.outputVisible, 1_000, 'the length of what could not be read is unknown');
  }
  t.deepEqual([...breakers.open(systemTime.monotonicMs())], []);
});

test("a message of Amazon's event stream is too large, and rubbish is not", (t) => {
  const codec = new EventStreamCodec(
    (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
    (text) => Buffer.from(text, 'utf8'),
  );
  const message = Buffer.from(codec.encode({ headers: {}, body: Buffer.alloc(2_000) }));
  const read = (bytes: Buffer) => () => new EventStreamParser(1_000).push(bytes, () => t.fail());
  t.throws(read(message), { instanceOf: TooLargeError });
  const rubbish = t.throws(read(Buffer.from('this is no stream of messages')));
  t.false(rubbish instanceof TooLargeError);
});

test('more tool calls than one answer may have: asked once, booked, and no failure of the key', async (t) => {
  const server = await started(t);
  const toolCalls = Array.from({ length: 300 }, (_, index) => ({ id: `c${index}`, name: 'f', args: ['{}'] }));
  server.byDefault({ toolCalls });
  const breakers = new CircuitBreakers();
  for (let round = 1; round <= breakerLimits.failuresMax; round += 1) {
    const done = await call(targetsOf(server), { request: { stream: round === 1 }, ports: { breakers } });
    t.is(done.outcome.error?.failure, 'too_large');
    t.is(server.requests.length, round);
    if (round > 1) t.like(done.reports[0]?.usage, { outputVisible: 300, source: 'reported' });
  }
  t.deepEqual([...breakers.open(systemTime.monotonicMs())], []);
});

const long = Array.from({ length: 60_000 }, () => 1);
const replies: Readonly<Record<string, object>> = {
  openai: { choices: long, usage: { prompt_tokens: 3, completion_tokens: 4 } },
  anthropic: { content: long, usage: { input_tokens: 3, output_tokens: 4 } },
  google: { candidates: long, usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 } },
  bedrock: { output: { message: { content: long } }, usage: { inputTokens: 3, outputTokens: 4 } },
};

for (const [vendor, reply] of Object.entries(replies)) {
  test(`${vendor}: the usage of a reply that is too large is read without the reply`, (t) => {
    const adapter = vendor === 'bedrock' ? bedrockAdapter(vendor) : adaptersByVendor([]).get(vendor);
    if (adapter === undefined) throw new Error(`no adapter for ${vendor}`);
    const [item, ...others] = usageInLarge(adapter, Buffer.from(JSON.stringify(reply)));
    t.like(item, { type: 'usage', usage: { inputUncached: 3, outputVisible: 4 } });
    t.deepEqual(others, []);
  });
}

test('short members are found whatever stands between them', (t) => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string().filter((key) => key !== 'long'),
        fc.jsonValue(),
      ),
      fc.nat({ max: 4 }),
      fc.jsonValue(),
      (short, indent, filling) => {
        const { ['__proto__']: _, ...members } = short;
        const whole = { ...members, long: [filling, 'x}],"\\'.repeat(20_000)], last: { a: [1, '"'] } };
        const text = JSON.stringify(whole, null, indent);
        const { long: _long, ...expected } = JSON.parse(text);
        t.deepEqual(JSON.parse(shortMembers(Buffer.from(text))), expected);
      },
    ),
  );
  for (const text of ['', '[', '}', '"', '{"a', '{"a":1', '[[1,2],3]'])
    t.notThrows(() => shortMembers(Buffer.from(text)));
});
