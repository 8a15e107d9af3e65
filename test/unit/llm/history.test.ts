import test from 'ava';
import { AnswerBuilder, historyFor, pinOf, type Message, type Origin } from '../../../src/llm/index.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { call, target } from '../../support/servers/vendors/call-harness.js';

const maker: Origin = { vendor: 'anthropic', model: 'anthropic.claude-sonnet-4-5', credentialId: 'k' };
const answer: Message = {
  role: 'assistant',
  content: [
    { type: 'thinking', text: 'hm', signature: 's', origin: maker },
    { type: 'redacted_thinking', data: 'd', origin: maker },
    { type: 'text', text: 'Hi', signature: 's2', origin: maker },
    { type: 'tool_call', id: '1', name: 'now', arguments: '{}', signature: 's3', origin: maker },
  ],
};
const result: Message = {
  role: 'tool',
  callId: '1',
  name: 'now',
  content: [{ type: 'text', text: '12:00' }],
};
const question: Message = { role: 'user', content: [{ type: 'text', text: 'what time?' }] };

test('signed parts return verbatim to their vendor, and are omitted for all others', (t) => {
  t.deepEqual(historyFor([question, answer, result], maker, 'anthropic'), [question, answer, result]);
  const elsewhere: Message[] = [
    question,
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'tool_call', id: '1', name: 'now', arguments: '{}' },
      ],
    },
    result,
  ];
  for (const change of [
    { vendor: 'openai' },
    { model: 'anthropic.claude-opus-5' },
    { credentialId: 'other' },
  ]) {
    t.deepEqual(historyFor([question, answer, result], { ...maker, ...change }, 'anthropic'), elsewhere);
  }
});

test('ids of calls that a vendor refuses are the same plain ones for a call and its result', async (t) => {
  const server = await new AnthropicServer().start();
  t.teardown(() => server.stop());
  const callOf = (id: string, name: string): Message[] => [
    { role: 'assistant', content: [{ type: 'tool_call', id, name, arguments: '{}' }] },
    { role: 'tool', callId: id, name, content: [{ type: 'text', text: 'sunny' }] },
  ];
  const messages = [
    question,
    ...callOf('functions.weather:0', 'weather'),
    ...callOf('functions.weather:1', 'weather'),
    ...callOf('toolu_1', 'now'),
  ];
  const { outcome } = await call([target('anthropic.claude-sonnet-4-5', server)], { request: { messages } });
  t.is(outcome.kind, 'completed', outcome.error?.message);
  const sent = server.requests[0]?.body['messages'] as {
    content: { id?: string; tool_use_id?: string }[];
  }[];
  const blocks = sent.flatMap(({ content }) => content);
  const made = blocks.flatMap(({ id }) => (id === undefined ? [] : [id]));
  t.true(
    made.every((id) => /^[a-zA-Z0-9_-]{1,64}$/.test(id)),
    made.join(),
  );
  t.deepEqual(
    blocks.flatMap(({ tool_use_id: id }) => (id === undefined ? [] : [id])),
    made,
  );
  t.is(new Set(made).size, 3);
  t.is(made[2], 'toolu_1', 'an id that the vendor takes stays');
});

test('instructions alone are sent as a question where a vendor wants one', async (t) => {
  const server = await new AnthropicServer().start();
  t.teardown(() => server.stop());
  const messages: Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'system', content: 'Say hello.' },
  ];
  await call([target('anthropic.claude-sonnet-4-5', server)], { request: { messages } });
  t.like(server.requests[0]?.body, {
    system: 'Be brief.',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }],
  });
});

test('a call is pinned to a vendor only while results answer its signed thought', (t) => {
  t.deepEqual(pinOf([question, answer, result]), maker);
  t.deepEqual(pinOf([question, answer, result, result]), maker);
  t.is(pinOf([question, answer]), undefined);
  t.is(pinOf([question, answer, result, question]), undefined);
  t.is(pinOf([question]), undefined);
  t.is(pinOf([]), undefined);
});

test('an answer assembled from events can be sent back with its signatures', async (t) => {
  const server = await new AnthropicServer().start();
  t.teardown(() => server.stop());
  server.script({ thinking: ['let me', ' see'], toolCalls: [{ id: 'toolu_1', name: 'now', args: ['{}'] }] });
  const one = target('anthropic.claude-sonnet-4-5', server);
  const first = await call([one]);
  t.is(
    pinOf([question, { role: 'assistant', content: first.answer.content }, result])?.credentialId,
    one.credential.id,
  );
  const messages: Message[] = [question, { role: 'assistant', content: first.answer.content }, result];
  await call([one], { request: { messages } });
  t.true(JSON.stringify(server.requests[1]?.body).includes('"signature":"sig-of-thought"'));
  await call([target('anthropic.claude-sonnet-4-5', server, { id: 'other' })], { request: { messages } });
  t.false(JSON.stringify(server.requests[2]?.body).includes('signature'));
});

test('text, thoughts and interleaved calls are assembled in order', (t) => {
  const builder = new AnswerBuilder();
  builder.add({ type: 'thinking', text: 'a' });
  builder.add({ type: 'thinking_end', signature: undefined });
  builder.add({ type: 'thinking', text: 'b' });
  builder.add({ type: 'content', text: 'x' });
  builder.add({ type: 'tool_call_start', index: 0, id: '1', name: 'f' });
  builder.add({ type: 'tool_call_start', index: 1, id: '2', name: 'g' });
  builder.add({ type: 'tool_call_arguments', index: 0, text: '{"a"' });
  builder.add({ type: 'tool_call_arguments', index: 1, text: '{}' });
  builder.add({ type: 'tool_call_arguments', index: 0, text: ':1}' });
  builder.add({ type: 'stop', reason: 'tool_calls', raw: 'tool_calls' });
  const built = builder.build(maker);
  t.deepEqual(
    built.content.map((part) =>
      part.type === 'tool_call' ? part.arguments : 'text' in part ? part.text : '',
    ),
    ['a', 'b', 'x', '{"a":1}', '{}'],
  );
  t.is(built.text, 'x');
  t.is(built.stop, 'tool_calls');
});
