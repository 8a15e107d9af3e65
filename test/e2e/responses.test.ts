// OpenAI's Responses API, through OpenAI's own unmodified client.
import test from 'ava';
import OpenAI from 'openai';
import { makeParseableTextFormat } from 'openai/lib/parser';
import type { Response, ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { booksOf, setPlan, sharedNodeWithOpenAi, sumOf } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { storedBy } from '../support/database/stored-responses.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);
const model = 'gpt-4.1-mini';

function clientOf({ node, bootstrap }: TenantNode): OpenAI {
  return new OpenAI({ apiKey: bootstrap.api_key, baseURL: `${node.baseUrl}/v1`, maxRetries: 0 });
}

const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
const weatherCall = { toolCalls: [{ id: 'call_a', name: 'weather', args: ['{"city":', '"Rome"}'] }] };

test.serial('a whole response is stored encrypted, read again, and deleted', async (t) => {
  const node = await shared.tenant(t);
  const client = clientOf(node);
  const made = await client.responses.create({
    model,
    instructions: 'Be brief.',
    input: 'Say hello',
    metadata: { case: '7' },
    max_output_tokens: 50,
    temperature: 0.5,
  });
  t.is(made.output_text, 'Hello world');
  t.like(made, {
    object: 'response',
    status: 'completed',
    model: 'openai.gpt-4.1-mini',
    error: null,
    incomplete_details: null,
    instructions: 'Be brief.',
    max_output_tokens: 50,
    metadata: { case: '7' },
    previous_response_id: null,
    temperature: 0.5,
  });
  t.regex(made.id, /^resp_[0-9a-f]{32}$/);
  const [message] = made.output;
  t.like(message, { type: 'message', role: 'assistant', status: 'completed' });
  t.deepEqual(server.requests[0]?.body, {
    model,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Say hello' },
    ],
    temperature: 0.5,
    max_completion_tokens: 50,
  });
  const { rows, counted } = await booksOf(node);
  t.deepEqual(sumOf(rows), server.billed);
  t.is(made.usage?.total_tokens, counted);
  t.deepEqual(await client.responses.retrieve(made.id), made);
  const [row] = await storedBy(node);
  t.false(row?.sealed.includes('hello') || row?.sealed.includes('Hello'));
  const other = clientOf(await shared.tenant(t));
  await t.throwsAsync(other.responses.retrieve(made.id), { instanceOf: OpenAI.NotFoundError });
  await t.throwsAsync(other.responses.delete(made.id), { instanceOf: OpenAI.NotFoundError });
  await client.responses.delete(made.id);
  const gone = await t.throwsAsync(client.responses.retrieve(made.id), { instanceOf: OpenAI.NotFoundError });
  t.regex(gone.requestID ?? '', /./);
  t.is((await storedBy(node)).length, 0);
  for (const id of ['resp_nothing', 'x']) {
    await t.throwsAsync(client.responses.retrieve(id), { instanceOf: OpenAI.NotFoundError });
  }
});

test.serial("a stream has OpenAI's events in OpenAI's order, numbered from 0", async (t) => {
  const node = await shared.tenant(t);
  const client = clientOf(node);
  server.script({ pieces: ['Let', ' me'], ...weatherCall });
  const events: ResponseStreamEvent[] = [];
  const stream = await client.responses.create({ model, input: 'Weather?', tools: [weather], stream: true });
  for await (const event of stream) events.push(event);
  t.deepEqual(
    events.map(({ type }) => type),
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ],
  );
  t.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    [...events.keys()],
  );
  const [created] = events;
  const last = events.at(-1);
  const begun = created?.type === 'response.created' ? created.response : undefined;
  const ended = last?.type === 'response.completed' ? last.response : undefined;
  t.like(begun, { status: 'in_progress', output: [] });
  t.is(begun?.id, ended?.id);
  const call = ended?.output[1];
  t.like(call, { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{"city":"Rome"}' });
  const added = events[9];
  t.is(added?.type === 'response.output_item.added' ? added.item.id : '', call?.id ?? 'none');
  t.is(ended?.usage?.total_tokens, (await booksOf(node)).counted);
  const whole = await client.responses.retrieve(ended?.id ?? '');
  t.deepEqual(whole.output, ended?.output);
});

test.serial("the client's own helpers read streams, thoughts, tools and structured answers", async (t) => {
  const node = await shared.tenant(t);
  const client = clientOf(node);
  server.script({ pieces: ['{"n":', ' 7}'] });
  const format = {
    type: 'json_schema' as const,
    name: 'number',
    schema: {
      type: 'object',
      properties: { n: { type: 'number' } },
      required: ['n'],
      additionalProperties: false,
    },
    strict: true,
  };
  const parsed = await client.responses.parse({ model, input: 'A number', text: { format } });
  t.is(parsed.output_text, '{"n": 7}');
  t.deepEqual(server.requests[0]?.body['response_format'], {
    type: 'json_schema',
    json_schema: { name: 'number', schema: format.schema, strict: true },
  });
  t.deepEqual(parsed.text?.format, format);
  const refusal = { role: 'assistant', content: null, refusal: 'I will not.' };
  const refused = { choices: [{ index: 0, message: refusal, finish_reason: 'stop' }] };
  server.script({ garbage: JSON.stringify(refused) });
  const parseable = makeParseableTextFormat(format, (text) => JSON.parse(text) as object);
  const unparsed = await client.responses.parse({ model, input: 'A number', text: { format: parseable } });
  t.is(unparsed.output_parsed, null);
  t.like(unparsed.output[0], { content: [{ type: 'refusal', refusal: 'I will not.' }] });
  server.script({ pieces: ['a', 'b'] });
  const final = await client.responses.stream({ model, input: 'Letters' }).finalResponse();
  t.is(final.output_text, 'ab');
  server.script(weatherCall);
  const called = await client.responses.create({
    model,
    input: 'Weather?',
    tools: [weather],
    tool_choice: 'required',
  });
  t.like(server.requests.at(-1)?.body, { tool_choice: 'required' });
  t.deepEqual(server.requests.at(-1)?.body['tools'], [
    {
      type: 'function',
      function: {
        name: 'weather',
        description: weather.description,
        parameters: weather.parameters,
        strict: true,
      },
    },
  ]);
  t.is(called.output[0]?.type, 'function_call');
});

test.serial('previous_response_id continues a conversation with its calls and outputs', async (t) => {
  const node = await shared.tenant(t);
  const client = clientOf(node);
  const first = await client.responses.create({ model, instructions: 'Only now.', input: 'I am Ada' });
  server.script(weatherCall);
  const second = await client.responses.create({
    model,
    input: 'Weather?',
    tools: [weather],
    previous_response_id: first.id,
  });
  const open = await t.throwsAsync(
    client.responses.create({ model, input: 'And?', previous_response_id: second.id }),
    { instanceOf: OpenAI.BadRequestError },
  );
  t.regex(open.message, /call_a/);
  const output = { type: 'function_call_output' as const, call_id: 'call_a', output: 'sunny' };
  const third = await client.responses.create({
    model,
    input: [output, { role: 'user', content: 'Thanks' }],
    previous_response_id: second.id,
    store: false,
  });
  t.is(third.previous_response_id, second.id);
  t.deepEqual(server.requests.at(-1)?.body['messages'], [
    { role: 'user', content: 'I am Ada' },
    { role: 'assistant', content: 'Hello world' },
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'sunny' },
    { role: 'user', content: 'Thanks' },
  ]);
  t.is((await storedBy(node)).length, 2, 'the third was not to be stored');
  for (const id of [third.id, 'resp_nothing']) {
    const unknown = await t.throwsAsync(
      client.responses.create({ model, input: 'x', previous_response_id: id }),
      { instanceOf: OpenAI.BadRequestError },
    );
    t.is(unknown.param, 'previous_response_id');
  }
  await client.responses.delete(first.id);
  t.is((await client.responses.retrieve(second.id)).id, second.id);
  const broken = await t.throwsAsync(
    client.responses.create({ model, input: [output], previous_response_id: second.id }),
    { instanceOf: OpenAI.BadRequestError },
  );
  t.regex(broken.message, /no longer stored/);
});

test.serial('a caller that keeps the conversation itself sends the output back as input', async (t) => {
  const node = await shared.tenant(t);
  const client = clientOf(node);
  server.script({ pieces: ['Wait'], ...weatherCall });
  const asked = { model, tools: [weather], store: false };
  const question = { role: 'user' as const, content: 'Weather?' };
  const first = await client.responses.create({ ...asked, input: [question] });
  await client.responses.create({
    ...asked,
    input: [
      question,
      ...(first.output as ResponseInputItem[]),
      { type: 'function_call_output', call_id: 'call_a', output: [{ type: 'input_text', text: 'rain' }] },
    ],
  });
  t.deepEqual(server.requests.at(-1)?.body['messages'], [
    question,
    {
      role: 'assistant',
      content: 'Wait',
      tool_calls: [
        { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'rain' },
  ]);
  t.is((await storedBy(node)).length, 0);
});

test.serial('a caller names stored output by its ids alone', async (t) => {
  const node = await shared.tenant(t);
  const client = clientOf(node);
  server.script({ pieces: ['Wait'], ...weatherCall });
  const question = { role: 'user' as const, content: 'Weather?' };
  const asked = { model, tools: [weather] };
  const first = await client.responses.create({ ...asked, input: [question] });
  const references = first.output.map(({ id = '' }) => ({ type: 'item_reference' as const, id }));
  const output = { type: 'function_call_output' as const, call_id: 'call_a', output: 'rain' };
  const input = [question, ...references, output];
  await client.responses.create({ ...asked, input });
  t.deepEqual(server.requests.at(-1)?.body['messages'], [
    question,
    {
      role: 'assistant',
      content: 'Wait',
      tool_calls: [
        { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'rain' },
  ]);
  const other = clientOf(await shared.tenant(t));
  const stranger = await t.throwsAsync(other.responses.create({ ...asked, input }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.is(stranger.param, 'input.1.id');
});

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test.serial('images reach models with vision; fields without effect are named', async (t) => {
  const node = await shared.tenant(t);
  const url = `data:image/png;base64,${pixel}`;
  const { data, response } = await clientOf(node)
    .responses.create({
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'what is it' },
            { type: 'input_image', image_url: url, detail: 'low' },
          ],
        },
      ],
      user: 'ada',
      service_tier: 'auto',
      prompt_cache_key: 'k',
      reasoning: { effort: 'low' },
    })
    .withResponse();
  t.is(data.status, 'completed');
  t.deepEqual(response.headers.get('x-troupe-ignored')?.split(', ').toSorted(), [
    'detail',
    'prompt_cache_key',
    'reasoning.effort',
    'service_tier',
    'user',
  ]);
  t.is(response.headers.get('x-troupe-paid-by'), 'platform');
  t.deepEqual(server.requests[0]?.body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is it' },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ]);
});

test.serial(
  'failures, full months and callers that leave: refused or ended, booked, and not stored',
  async (t) => {
    const node = await shared.tenant(t);
    const client = clientOf(node);
    server.script({ status: 400, message: 'no such thing' });
    const failed = await t.throwsAsync(client.responses.create({ model, input: 'x' }), {
      instanceOf: OpenAI.InternalServerError,
    });
    t.is(failed.code, 'provider_error');
    server.script({ pieces: ['a', 'b', 'c'], cutAfter: 2 });
    const events: ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ model, input: 'x', stream: true }))
      events.push(event);
    const last = events.at(-1);
    const ended: Response | undefined = last?.type === 'response.failed' ? last.response : undefined;
    t.is(ended?.status, 'failed');
    t.is(String(ended?.error?.code), 'provider_error');
    t.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      [...events.keys()],
    );
    server.script({ pieces: ['one', ' two'], hangAfter: 2 });
    const stream = await client.responses.create({ model, input: 'x', stream: true });
    const request = server.requests.at(-1);
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    await eventually(() => request?.leftAtMs !== undefined);
    const rows = await eventually(async () => {
      const { rows } = await booksOf(node);
      return rows.length === 3 && rows.every(({ outcome }) => outcome !== null) ? rows : undefined;
    });
    t.is(rows.at(-1)?.outcome, 'cancelled');
    const { input, output } = sumOf(rows);
    t.is((await booksOf(node)).counted, input + output);
    t.is((await storedBy(node)).length, 0);
    server.script({ pieces: ['cut'] });
    await setPlan(node, operatorToken, 'enterprise', { monthly_tokens: 0 });
    const quota = await t.throwsAsync(client.responses.create({ model, input: 'x' }), {
      instanceOf: OpenAI.RateLimitError,
    });
    t.is(quota.code, 'quota_exceeded');
  },
);
