// Adapters report, pass on or omit any vendor output. They never throw and never grow without bound.
import test from 'ava';
import fc from 'fast-check';
import { adaptersByVendor } from '../../../src/llm/index.js';
import type { ReplyItem } from '../../../src/llm/contract.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { call, target } from '../../support/servers/vendors/call-harness.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';

const adapters = [...adaptersByVendor([]).values()];

/** Objects that look like the vendors' own, with anything in the places where something is expected. */
const names = [
  'choices',
  'delta',
  'content',
  'tool_calls',
  'function',
  'arguments',
  'index',
  'id',
  'finish_reason',
  'usage',
  'error',
  'message',
  'code',
  'type',
  'content_block',
  'partial_json',
  'text',
  'stop_reason',
  'candidates',
  'parts',
  'functionCall',
  'args',
  'thought',
  'usageMetadata',
  'promptFeedback',
  'blockReason',
  'reasoning_details',
] as const;
const words = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'tool_use',
  'input_json_delta',
  'text_delta',
  'thinking',
  'signature_delta',
  'stop',
  'STOP',
  'error',
  '',
];
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(null, 0, -1, 1.5, 1e308, true, ...words),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 6 }),
  ),
}));

test('no JSON makes an adapter throw, streamed, whole or as an error', (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(tree, fc.anything()), { maxLength: 6 }), (values) => {
      for (const adapter of adapters) {
        const items: ReplyItem[] = [];
        const reader = adapter.reader();
        for (const value of values) {
          const data = JSON.stringify(value) ?? 'undefined';
          reader.read({ event: '', data }, items);
          adapter.fromReply(value, items);
          adapter.mapError({ status: 500, headers: {}, body: data, nowMs: 0 });
        }
        reader.end(items);
        for (const item of items) {
          if ('text' in item) t.is(typeof item.text, 'string');
          if ('index' in item) t.true(Number.isInteger(item.index));
          if (item.type === 'tool_call_start') t.is(typeof item.name, 'string');
        }
      }
    }),
    // A thing that cannot be made into a number is an honest JSON object.
    { numRuns: 400, examples: [[[{ error: { code: { toString: 1, valueOf: 1 } } }]]] },
  );
  t.pass();
});

test('an answer with more tool calls than the platform reads is cut off', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const toolCalls = Array.from({ length: 300 }, (_, index) => ({ id: `c${index}`, name: 'f', args: ['{}'] }));
  server.byDefault({ toolCalls });
  for (const stream of [true, false]) {
    const done = await call([target('openai.gpt-4.1', server)], { request: { stream } });
    t.is(done.outcome.error?.failure, 'too_large');
  }
});

test('an endless event or reply is cut off at its limit', async (t) => {
  const server = await new AnthropicServer().start();
  t.teardown(() => server.stop());
  const endless = `data: ${'x'.repeat(9 * 1024 * 1024)}`;
  server.script({ garbage: endless }, { garbage: endless });
  const streamed = await call([target('anthropic.claude-haiku-4-5', server)]);
  t.is(streamed.outcome.error?.failure, 'too_large');
  t.regex(streamed.outcome.error?.message ?? '', /more than \d+ bytes/);
  const huge = 'y'.repeat(33 * 1024 * 1024);
  server.script({ garbage: huge }, { garbage: huge });
  const whole = await call([target('anthropic.claude-haiku-4-5', server)], { request: { stream: false } });
  t.is(whole.outcome.error?.failure, 'nonsense');
});

test('JSON in answer to a stream, or a stream in answer to JSON, is still read', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  server.isStream = () => false;
  const whole = await call([target('openai.gpt-4.1', server)], { request: { stream: true } });
  t.is(whole.answer.text, 'Hello world');
  server.isStream = () => true;
  const streamed = await call([target('openai.gpt-4.1', server)], { request: { stream: false } });
  t.is(streamed.answer.text, 'Hello world');
});
