import Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import OpenAI from 'openai';
import { booksOf, setPlan, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import type { Json } from '../support/clients/client.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

// The vendors' own unmodified clients, with nothing changed but the address and the key.
function openai({ node, bootstrap }: TenantNode): OpenAI {
  return new OpenAI({ apiKey: bootstrap.api_key, baseURL: `${node.baseUrl}/v1`, maxRetries: 0 });
}

function anthropic({ node, bootstrap }: TenantNode): Anthropic {
  return new Anthropic({ apiKey: bootstrap.api_key, baseURL: node.baseUrl, maxRetries: 0 });
}

const question = [{ role: 'user' as const, content: 'Hello there' }];

test.serial(
  "OpenAI's client lists models and gets whole and streamed answers, and the ledger records them",
  async (t) => {
    const node = await shared.tenant(t);
    const client = openai(node);
    const ids = (await client.models.list()).data.map(({ id }) => id);
    t.true(ids.includes('openai.gpt-4.1-mini') && ids.includes('sim.echo'));
    t.false(ids.some((id) => id.startsWith('anthropic.')));
    const whole = await client.chat.completions.create({ model: 'gpt-4.1-mini', messages: question });
    t.is(whole.choices[0]?.message.content, 'Hello world', "OpenAI's own name of the model is known here");
    t.is(whole.model, 'openai.gpt-4.1-mini');
    const pieces: string[] = [];
    let total = 0;
    const stream = await client.chat.completions.create({
      model: 'sim.echo',
      messages: question,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      pieces.push(chunk.choices[0]?.delta.content ?? '');
      total = chunk.usage?.total_tokens ?? total;
    }
    t.is(pieces.join(''), 'echo: Hello there');
    t.is(total, 5);
    const { rows, counted } = await booksOf(node);
    t.is(rows.length, 2);
    t.is(counted, server.billed.input + server.billed.output + 5);
  },
);

test.serial("OpenAI's client gets tool calls from the vendor", async (t) => {
  const node = await shared.tenant(t);
  server.script({ toolCalls: [{ id: 'call_a', name: 'weather', args: ['{"city":', '"Rome"}'] }] });
  const answer = await openai(node).chat.completions.create({
    model: 'openai.gpt-4.1-mini',
    messages: question,
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
  });
  const [call] = answer.choices[0]?.message.tool_calls ?? [];
  t.is(answer.choices[0]?.finish_reason, 'tool_calls');
  t.deepEqual(call?.type === 'function' ? call.function : undefined, {
    name: 'weather',
    arguments: '{"city":"Rome"}',
  });
});

test.serial("Anthropic's client gets whole and streamed answers", async (t) => {
  const node = await shared.tenant(t);
  const client = anthropic(node);
  const wish = { model: 'sim.echo', max_tokens: 100, messages: question };
  const whole = await client.messages.create(wish);
  t.deepEqual(
    whole.content.map((block) => (block.type === 'text' ? block.text : block.type)),
    ['echo: Hello there'],
  );
  t.is(whole.stop_reason, 'end_turn');
  t.is(whole.usage.output_tokens, 3);
  const streamed = await client.messages.stream(wish).finalMessage();
  t.is(streamed.usage.output_tokens, 3);
  t.is(streamed.model, 'sim.echo');
  t.is((await booksOf(node)).counted, 10);
});

test.serial('an answer that a stop sequence ended names it, whole and streamed', async (t) => {
  const node = await shared.tenant(t);
  const wish = {
    model: 'sim.tools',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'one STOP two END three' }],
    stop_sequences: ['END', 'STOP'],
  };
  const whole = await anthropic(node).messages.create(wish);
  t.is(`${whole.stop_reason} ${whole.stop_sequence}`, 'stop_sequence STOP');
  const deltas: unknown[] = [];
  for await (const event of await anthropic(node).messages.create({ ...wish, stream: true })) {
    if (event.type === 'message_delta') deltas.push(event.delta);
  }
  t.deepEqual(deltas, [{ stop_reason: 'stop_sequence', stop_sequence: 'STOP' }]);
  const unstopped = await anthropic(node).messages.create({ ...wish, stop_sequences: ['NEVER'] });
  t.is(`${unstopped.stop_reason} ${unstopped.stop_sequence}`, 'end_turn null');
});

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test.serial('both clients send images to models with vision, and other models refuse them', async (t) => {
  const node = await shared.tenant(t);
  const url = `data:image/png;base64,${pixel}`;
  const seen = (): unknown => server.requests.at(-1)?.body['messages'];
  const words = { type: 'text' as const, text: 'what is it' };
  const asked = [words, { type: 'image_url' as const, image_url: { url } }];
  const chat = { messages: [{ role: 'user' as const, content: asked }] };
  await openai(node).chat.completions.create({ model: 'gpt-4.1-mini', ...chat });
  t.deepEqual(seen(), [{ role: 'user', content: asked }]);
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel };
  const message = { role: 'user' as const, content: [words, { type: 'image' as const, source }] };
  const wish = { max_tokens: 100, messages: [message] };
  await anthropic(node).messages.create({ model: 'openai.gpt-4.1-mini', ...wish });
  t.deepEqual(seen(), [{ role: 'user', content: asked }]);
  const calls = server.requests.length;
  const blind = await t.throwsAsync(openai(node).chat.completions.create({ model: 'sim.echo', ...chat }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.is(blind.code, 'unsupported_content');
  const other = await t.throwsAsync(anthropic(node).messages.create({ model: 'sim.echo', ...wish }), {
    instanceOf: Anthropic.BadRequestError,
  });
  t.regex(other.message, /does not accept images/);
  t.is(server.requests.length, calls);
});

const pdf = Buffer.from('%PDF-1.4\n%%EOF').toString('base64');

test.serial('both clients send documents to vendors that read them, and others refuse them', async (t) => {
  const node = await shared.tenant(t);
  const words = { type: 'text' as const, text: 'what does it say' };
  const file = {
    type: 'file' as const,
    file: { filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` },
  };
  const chat = { messages: [{ role: 'user' as const, content: [words, file] }] };
  await openai(node).chat.completions.create({ model: 'gpt-4.1-mini', ...chat });
  t.deepEqual(server.requests.at(-1)?.body['messages'], [{ role: 'user', content: [words, file] }]);
  const source = { type: 'base64' as const, media_type: 'application/pdf' as const, data: pdf };
  const block = { type: 'document' as const, source, title: 'bill.pdf' };
  const wish = { max_tokens: 100, messages: [{ role: 'user' as const, content: [words, block] }] };
  await anthropic(node).messages.create({ model: 'openai.gpt-4.1-mini', ...wish });
  t.deepEqual(server.requests.at(-1)?.body['messages'], [{ role: 'user', content: [words, file] }]);
  const calls = server.requests.length;
  const refused = await t.throwsAsync(openai(node).chat.completions.create({ model: 'sim.echo', ...chat }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.deepEqual([refused.code, refused.param], ['unsupported_content', 'messages.0.content.1']);
  const byAddress = { ...block, source: { type: 'url' as const, url: 'https://files.example/bill.pdf' } };
  const elsewhere = await t.throwsAsync(
    anthropic(node).messages.create({
      model: 'openai.gpt-4.1-mini',
      max_tokens: 100,
      messages: [{ role: 'user', content: [byAddress] }],
    }),
    { instanceOf: Anthropic.BadRequestError },
  );
  t.regex(elsewhere.message, /messages\.0\.content\.0 \(bill\.pdf\)/);
  t.is(server.requests.length, calls);
});

test.serial("a token bound above the model's maximum is reduced to the maximum", async (t) => {
  const node = await shared.tenant(t);
  const asked = { model: 'openai.gpt-4.1-mini', messages: question };
  await openai(node).chat.completions.create({ ...asked, max_completion_tokens: 100_000_000 });
  t.is(server.requests.at(-1)?.body['max_completion_tokens'], 32_768);
  await openai(node).chat.completions.create({ ...asked, max_completion_tokens: 7 });
  t.is(server.requests.at(-1)?.body['max_completion_tokens'], 7);
});

test.serial('each client lists and reads models in the form of its own vendor', async (t) => {
  const node = await shared.tenant(t);
  const listed = await openai(node).models.list();
  t.is(listed.object, 'list');
  const one = await openai(node).models.retrieve('gpt-4.1-mini');
  t.deepEqual([one.id, one.object, one.owned_by], ['openai.gpt-4.1-mini', 'model', 'openai']);
  const slashed = await t.throwsAsync(openai(node).models.retrieve('openrouter.openai/gpt-5'), {
    instanceOf: OpenAI.NotFoundError,
  });
  t.is(slashed.code, 'not_found', 'there is no key for that vendor here');
  t.regex(slashed.requestID ?? '', /./);
  const client = anthropic(node);
  const seen: string[] = [];
  for await (const model of client.models.list({ limit: 3 })) {
    seen.push(model.id);
    t.is(model.type, 'model');
  }
  t.deepEqual(
    seen,
    listed.data.map(({ id }) => id),
  );
  const first = await client.models.list({ limit: 2 });
  t.deepEqual([first.first_id, first.last_id, first.has_more], [seen[0], seen[1], true]);
  const before = await client.models.list({ limit: 2, before_id: seen[3] ?? '' });
  t.deepEqual([before.data.map(({ id }) => id), before.has_more], [seen.slice(1, 3), true]);
  t.is((await client.models.retrieve('sim.echo')).max_tokens, 1_000_000);
  const unknown = await t.throwsAsync(client.models.retrieve('sim.ecko'), {
    instanceOf: Anthropic.NotFoundError,
  });
  t.regex(unknown.message, /sim\.echo/);
  t.like(unknown.error, { type: 'error', request_id: unknown.requestID });
  await t.throwsAsync(client.models.list({ after_id: 'nobody' }), { instanceOf: Anthropic.BadRequestError });
});

test.serial("Anthropic's client counts the tokens of a request, and nothing is spent", async (t) => {
  const node = await shared.tenant(t);
  const client = anthropic(node);
  const asked = { messages: question, system: 'You are brief.' };
  t.deepEqual(await client.messages.countTokens({ model: 'sim.echo', ...asked }), { input_tokens: 5 });
  const tool = { name: 'weather', input_schema: { type: 'object' as const } };
  const bare = await client.messages.countTokens({ model: 'openai.gpt-4.1-mini', ...asked });
  const more = await client.messages.countTokens({ model: 'openai.gpt-4.1-mini', ...asked, tools: [tool] });
  t.true(bare.input_tokens > 0 && more.input_tokens > bare.input_tokens);
  await t.throwsAsync(client.messages.countTokens({ model: 'nobody', ...asked }), {
    instanceOf: Anthropic.BadRequestError,
  });
  t.is((await booksOf(node)).rows.length, 0);
  t.is(server.requests.length, 0);
});

test.serial('paths and methods that do not exist are refused in the form of their dialect', async (t) => {
  const { node } = await shared.tenant(t);
  const asked = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${node.baseUrl}${path}`, { method, headers });
    return { status: response.status, headers: response.headers, json: (await response.json()) as Json };
  };
  const version = { 'anthropic-version': '2023-06-01' };
  const lost = await asked('GET', '/v1/nowhere');
  t.is(lost.status, 404);
  t.deepEqual(Object.keys(lost.json.error).toSorted(), ['code', 'message', 'param', 'type']);
  for (const [method, path, status] of [
    ['GET', '/v1/nowhere', 404],
    ['GET', '/v1/messages', 405],
  ] as const) {
    const refused = await asked(method, path, version);
    t.is(refused.status, status);
    const id = refused.headers.get('request-id');
    t.is(id, refused.headers.get('x-request-id'));
    t.like(refused.json, { type: 'error', request_id: id });
  }
  t.is((await asked('PUT', '/v1/chat/completions')).json.error.type, 'invalid_request_error');
});

test.serial('what a vendor refuses for good is asked once, by clients that retry as they come', async (t) => {
  const node = await shared.tenant(t);
  const { baseUrl } = node.node;
  const { api_key: apiKey } = node.bootstrap;
  const model = 'openai.gpt-4.1-mini';
  const ofOpenAi = new OpenAI({ apiKey, baseURL: `${baseUrl}/v1` });
  const ofAnthropic = new Anthropic({ apiKey, baseURL: baseUrl });
  const ask = [
    () => ofOpenAi.chat.completions.create({ model, messages: question }),
    () => ofOpenAi.chat.completions.create({ model, messages: question, stream: true }),
    () => ofOpenAi.responses.create({ model, input: 'Hello there' }),
    () => ofOpenAi.embeddings.create({ model: 'openai.text-embedding-3-small', input: 'Hello there' }),
    () => ofAnthropic.messages.create({ model, messages: question, max_tokens: 9 }),
  ];
  for (const each of ask) {
    server.clearScripts();
    server.script({ status: 400, message: 'the value is wrong' });
    const before = server.requests.length;
    const refused = await t.throwsAsync(each);
    t.true(refused instanceof OpenAI.APIError || refused instanceof Anthropic.APIError);
    t.like(refused, { status: 502 });
    t.regex(refused.message, /(openai|anthropic): the value is wrong/);
    t.is(server.requests.length, before + 1);
  }
  server.script({ status: 503, headers: { 'x-should-retry': 'false' } });
  const answer = await ofOpenAi.chat.completions.create({ model, messages: question });
  t.is(answer.choices[0]?.message.content, 'Hello world', 'a vendor that is away is asked again');
});

test.serial('refusals have the dialect of the endpoint and the code of the platform', async (t) => {
  const node = await shared.tenant(t);
  const stranger = new OpenAI({
    apiKey: 'svc_live_wrong',
    baseURL: `${node.node.baseUrl}/v1`,
    maxRetries: 0,
  });
  const unknown = await t.throwsAsync(stranger.models.list(), { instanceOf: OpenAI.AuthenticationError });
  t.is(unknown.code, 'invalid_api_key');
  const client = openai(node);
  const model = await t.throwsAsync(client.chat.completions.create({ model: 'nobody', messages: question }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.is(model.code, 'invalid_model');
  const role = await t.throwsAsync(
    anthropic(node).messages.create({ model: 'sim.echo', max_tokens: 0, messages: question }),
    { instanceOf: Anthropic.BadRequestError },
  );
  t.regex(role.message, /max_tokens/);
  await setPlan(node, operatorToken, 'enterprise', { monthly_tokens: 0 });
  const quota = await t.throwsAsync(
    client.chat.completions.create({ model: 'sim.echo', messages: question, stream: true }),
    { instanceOf: OpenAI.RateLimitError },
  );
  t.is(quota.code, 'quota_exceeded');
  t.is(quota.type, 'insufficient_quota');
  t.is(quota.headers.get('x-should-retry'), 'false');
  t.true(Number(quota.headers.get('retry-after')) > 0);
  const { baseUrl } = node.node;
  const { api_key: apiKey } = node.bootstrap;
  // As they come, they sleep as long as Retry-After says, which is up to a month, and repeat.
  const ofOpenAi = new OpenAI({ apiKey, baseURL: `${baseUrl}/v1` });
  const ofAnthropic = new Anthropic({ apiKey, baseURL: baseUrl });
  const ask = { model: 'sim.echo', messages: question, max_tokens: 9 };
  await t.throwsAsync(ofOpenAi.chat.completions.create(ask), { instanceOf: OpenAI.RateLimitError });
  await t.throwsAsync(ofAnthropic.messages.create(ask), { instanceOf: Anthropic.RateLimitError });
});
