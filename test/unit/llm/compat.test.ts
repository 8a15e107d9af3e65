// The OpenAI and Anthropic endpoints, used through those vendors' own unmodified clients.
import Anthropic from '@anthropic-ai/sdk';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { makeParseableResponseFormat } from 'openai/lib/parser';
import { pinOf } from '../../../src/llm/index.js';
import { unpackSignature, packSignature } from '../../../src/llm/packed-signature.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { catalogue, simTarget, target, testPorts } from '../../support/servers/vendors/call-harness.js';
import { compatServer, type CompatServer } from '../../support/servers/vendors/compat-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';
import { sse, type VendorServer } from '../../support/servers/vendors/vendor-server.js';
import { fromChatRequest, fromMessagesRequest } from '../../../src/models/compat/index.js';

async function serve(t: ExecutionContext, vendor?: VendorServer, model = 'sim.echo'): Promise<CompatServer> {
  const ports = testPorts();
  if (vendor !== undefined) {
    await vendor.start();
    t.teardown(() => vendor.stop());
  }
  const server = await compatServer(vendor === undefined ? simTarget(model) : target(model, vendor), ports);
  t.teardown(async () => {
    await server.stop();
    await ports.pools.close();
  });
  return server;
}

const openai = (server: CompatServer): OpenAI =>
  new OpenAI({ apiKey: 'key', baseURL: `${server.origin}/v1`, maxRetries: 0 });
const anthropic = (server: CompatServer): Anthropic =>
  new Anthropic({ apiKey: 'key', baseURL: server.origin, maxRetries: 0 });

const toolCalls = [
  { id: 'call_a', name: 'weather', args: ['{"city":', '"Rome"}'] },
  { id: 'call_b', name: 'time', args: ['{"zone":', '"UTC"}'] },
];

test("OpenAI's client gets a whole answer, a stream, and its requested usage chunk", async (t) => {
  const client = openai(await serve(t));
  const messages = [{ role: 'user' as const, content: 'Grüße aus Köln' }];
  const whole = await client.chat.completions.create({ model: 'sim.echo', messages });
  t.is(whole.choices[0]?.message.content, 'echo: Grüße aus Köln');
  t.is(whole.choices[0]?.finish_reason, 'stop');
  t.deepEqual(
    [whole.usage?.prompt_tokens, whole.usage?.completion_tokens, whole.usage?.total_tokens],
    [3, 4, 7],
  );

  const pieces: string[] = [];
  const ends: string[] = [];
  let usage: number | undefined;
  const stream = await client.chat.completions.create({
    model: 'sim.echo',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    pieces.push(chunk.choices[0]?.delta.content ?? '');
    usage = chunk.usage?.total_tokens ?? usage;
    if (chunk.choices.length === 0) ends.push('usage');
    else if (chunk.choices[0]?.finish_reason !== null) ends.push('finish_reason');
  }
  t.deepEqual(ends, ['finish_reason', 'usage'], 'the usage comes last');
  t.is(pieces.join(''), 'echo: Grüße aus Köln');
  t.is(usage, 7);
});

test("OpenAI's client gets tool calls of another vendor, and sends their results back", async (t) => {
  const vendor = new AnthropicServer();
  const server = await serve(t, vendor, 'anthropic.claude-haiku-4-5');
  const client = openai(server);
  vendor.script({ thinking: ['hm'], pieces: ['Let me see.'], toolCalls }, { toolCalls });
  const request = {
    model: 'anthropic.claude-haiku-4-5',
    messages: [{ role: 'user' as const, content: 'weather and time?' }],
    tools: [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }],
  };
  const final = await client.chat.completions.stream(request).finalChatCompletion();
  const answer = final.choices[0]?.message;
  t.is(answer?.content, 'Let me see.');
  t.is(final.choices[0]?.finish_reason, 'tool_calls');
  t.deepEqual(
    answer?.tool_calls?.map((call) => (call.type === 'function' ? [call.id, call.function.arguments] : [])),
    [
      ['call_a', '{"city":"Rome"}'],
      ['call_b', '{"zone":"UTC"}'],
    ],
  );
  const whole = await client.chat.completions.create(request);
  t.is(whole.choices[0]?.message.tool_calls?.length, 2);
  const [message] = whole.choices;
  await client.chat.completions.create({
    ...request,
    messages: [
      ...request.messages,
      message?.message ?? t.fail(),
      { role: 'tool', tool_call_id: 'call_a', content: 'sunny' },
      { role: 'tool', tool_call_id: 'call_b', content: '12:00' },
    ],
  });
  t.deepEqual(
    server.seen.at(-1)?.messages.flatMap((each) => (each.role === 'tool' ? [[each.name, each.callId]] : [])),
    [
      ['weather', 'call_a'],
      ['time', 'call_b'],
    ],
  );
});

test('Anthropic’s client gets a whole answer, a stream, thoughts and interleaved calls of another vendor', async (t) => {
  const echo = anthropic(await serve(t));
  const request = {
    model: 'sim.echo',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'Grüße' }],
  };
  const whole = await echo.messages.create(request);
  t.deepEqual(whole.content, [{ type: 'text', text: 'echo: Grüße' }]);
  t.is(whole.stop_reason, 'end_turn');
  t.is(whole.usage.output_tokens, 2);

  const vendor = new OpenAiServer('xai');
  const client = anthropic(await serve(t, vendor, 'xai.grok-4.3'));
  vendor.script({ thinking: ['let me', ' think'], pieces: ['Hi', ' you'], toolCalls });
  const final = await client.messages.stream(request).finalMessage();
  t.deepEqual(
    final.content.map((block) => block.type),
    ['thinking', 'text', 'tool_use', 'tool_use'],
  );
  const [thought, said, first, second] = final.content;
  t.is(thought?.type === 'thinking' ? thought.thinking : '', 'let me think');
  t.is(said?.type === 'text' ? said.text : '', 'Hi you');
  t.deepEqual(first?.type === 'tool_use' ? first.input : {}, { city: 'Rome' });
  t.deepEqual(second?.type === 'tool_use' ? second.input : {}, { zone: 'UTC' });
  t.is(final.stop_reason, 'tool_use');
  t.is(final.usage.output_tokens, 8);
});

test("a refusal comes in the field that OpenAI's client reads", async (t) => {
  const vendor = new OpenAiServer();
  const client = openai(await serve(t, vendor, 'openai.gpt-4.1'));
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    sse({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  const pieces = [chunk({ role: 'assistant' }), chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' })];
  const refused = { garbage: [...pieces, chunk({}, 'stop'), sse('[DONE]')].join('') };
  vendor.script(refused, refused, {
    garbage: [...pieces, chunk({}, 'content_filter'), sse('[DONE]')].join(''),
  });
  const asked = { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] };
  const format = makeParseableResponseFormat(
    { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } },
    (text) => JSON.parse(text) as object,
  );
  for (const body of [asked, { ...asked, response_format: format }]) {
    const final = await client.chat.completions.stream(body).finalChatCompletion();
    t.is(final.choices[0]?.message.refusal, 'I will not.');
    t.falsy(final.choices[0]?.message.content);
    t.is(final.choices[0]?.finish_reason, 'stop');
    t.is(final.choices[0]?.message.parsed, null);
  }
  const filtered = await client.chat.completions.stream(asked).finalChatCompletion();
  t.is(filtered.choices[0]?.finish_reason, 'content_filter', 'what the vendor filters stays so');
});

test('a signed thought survives the round trip, bound to its vendor', async (t) => {
  const vendor = new AnthropicServer();
  const server = await serve(t, vendor, 'anthropic.claude-sonnet-4-5');
  const client = anthropic(server);
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'time?' }];
  const request = { model: 'anthropic.claude-sonnet-4-5', max_tokens: 100, messages };
  for (const streamed of [true, false]) {
    vendor.script({ thinking: ['hm'], toolCalls: [{ id: 'toolu_1', name: 'now', args: ['{}'] }] });
    const first = streamed
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    await client.messages.create({
      ...request,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '12:00' }] },
      ],
    });
    t.is(pinOf(server.seen.at(-1)?.messages ?? [])?.model, 'anthropic.claude-sonnet-4-5');
    t.true(JSON.stringify(vendor.requests.at(-1)?.body).includes('"signature":"sig-of-thought"'));
  }
});

test("clients read the platform's refusals as their own, before and inside a stream", async (t) => {
  const vendor = new OpenAiServer();
  const server = await serve(t, vendor, 'openai.gpt-4.1');
  const bad = await t.throwsAsync(
    openai(server).chat.completions.create({
      model: 'm',
      temperature: 3,
      messages: [{ role: 'user', content: 'x' }],
    }),
  );
  t.true(
    bad instanceof OpenAI.BadRequestError && bad.code === 'validation_error' && bad.param === 'temperature',
  );
  const none = await t.throwsAsync(
    anthropic(server).messages.create({ model: 'm', max_tokens: 0, messages: [] }),
  );
  t.true(none instanceof Anthropic.BadRequestError);

  vendor.byDefault({ status: 503 });
  const away = await t.throwsAsync(
    openai(server).chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
  );
  t.true(away instanceof OpenAI.InternalServerError && away.code === 'provider_unavailable');

  vendor.byDefault({ pieces: ['one', 'two'], failAfter: 1 });
  const cut = { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] };
  await t.throwsAsync(openai(server).chat.completions.stream(cut).finalChatCompletion());
  await t.throwsAsync(
    anthropic(server)
      .messages.stream({ ...cut, max_tokens: 9 })
      .finalMessage(),
  );
});

test('requests of either dialect become the same request of the platform', (t) => {
  const chat = fromChatRequest({
    model: 'gpt-4.1',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
        ],
      },
    ],
    max_completion_tokens: 50,
    stop: 'END',
    reasoning_effort: 'minimal',
    metadata: { unknown: 'fields are left alone' },
  });
  const claude = fromMessagesRequest({
    model: 'claude-haiku-4-5',
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
        ],
      },
    ],
    max_tokens: 50,
    stop_sequences: ['END'],
    thinking: { type: 'enabled', budget_tokens: 1024 },
  });
  const { wire: messagesWire, thinkingBudget, ...fromClaude } = claude.request;
  const { wire: chatWire, ...fromChat } = chat.request;
  t.is(thinkingBudget, 1024);
  t.is(messagesWire?.dialect, 'messages');
  t.true(chatWire?.fields.some(({ field }) => field === 'metadata'));
  // A part's place in the body differs, as the bodies do.
  const compared = (request: object): unknown =>
    JSON.parse(JSON.stringify(request, (name, value: unknown) => (name === 'field' ? undefined : value)));
  t.deepEqual(compared(fromClaude), compared(fromChat));
  t.deepEqual(compared(fromChat), {
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'QUJD' } },
        ],
      },
    ],
    maxTokens: 50,
    stop: ['END'],
    reasoningEffort: 'low',
    stream: false,
  });
});

test('an endpoint refuses its unsupported features by name', (t) => {
  const user = { role: 'user', content: 'x' };
  const refused = (read: () => unknown, field: string): void => {
    const error = t.throws(read, { message: new RegExp(`^${field}`) });
    t.truthy(error);
  };
  refused(() => fromChatRequest({ model: 'm', messages: [user], n: 2 }), 'n');
  refused(() => fromChatRequest({ model: 'm', messages: [] }), 'messages');
  refused(() => fromChatRequest({ messages: [user] }), 'model');
  refused(
    () => fromChatRequest({ model: 'm', messages: [{ role: 'robot', content: 'x' }] }),
    'messages.0.role',
  );
  refused(
    () => fromChatRequest({ model: 'm', messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }),
    'messages.0.tool_call_id',
  );
  refused(() => fromMessagesRequest({ model: 'm', messages: [user] }), 'max_tokens');
  refused(() => fromChatRequest(null), 'body');
});

test("an endpoint accepts its vendor's own model names", (t) => {
  const named = (model: string, vendor: 'openai' | 'anthropic'): string => {
    const found = catalogue.resolve(model, undefined, vendor);
    return 'model' in found ? found.model.id : found.problem;
  };
  t.is(named('gpt-4.1', 'openai'), 'openai.gpt-4.1');
  t.is(named('claude-haiku-4-5', 'anthropic'), 'anthropic.claude-haiku-4-5');
  t.is(named('anthropic.claude-haiku-4-5', 'openai'), 'anthropic.claude-haiku-4-5');
  t.is(named('gpt-99', 'openai'), 'invalid_model');
});

test('a signature that was not sealed here belongs to nobody', (t) => {
  const origin = { vendor: 'v', model: 'v.m', credentialId: 'k' };
  t.deepEqual(unpackSignature(packSignature('sig ✓', origin)), { signature: 'sig ✓', origin });
  for (const other of [
    '',
    'EqQBCkYI',
    'troupe1.',
    'troupe1.!!!',
    `troupe1.${Buffer.from('[1,2,3,4]').toString('base64url')}`,
  ]) {
    t.is(unpackSignature(other), undefined, other);
  }
});

test('arguments of tool calls have one total limit, because each is parsed for vendors that want objects', (t) => {
  const withCalls = (calls: number, keys: number): object => ({
    model: 'sim.echo',
    messages: Array.from({ length: calls }, (_, index) => ({
      role: 'assistant',
      tool_calls: [
        {
          id: `call_${index}`,
          type: 'function',
          function: { name: 'look', arguments: `{"list":[${'0,'.repeat(keys)}0]}` },
        },
      ],
    })),
  });
  t.notThrows(() => fromChatRequest(withCalls(40, 1_000)));
  t.throws(() => fromChatRequest(withCalls(60, 1_000)), { message: /tool_calls/ });
  t.throws(() => fromChatRequest(withCalls(1, 60_000)), { message: /tool_calls/ });
});
