// Whole and streamed answers of servers that imitate OpenAI's format, as OpenAI's own client gets them.
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { target, testPorts } from '../../support/servers/vendors/call-harness.js';
import { compatServer } from '../../support/servers/vendors/compat-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';
import { sse } from '../../support/servers/vendors/vendor-server.js';

const model = 'openai.gpt-4.1-mini';
const asked = { model, messages: [{ role: 'user' as const, content: 'Hello' }] };
const head = { id: 'c', object: 'chat.completion', created: 1, model: 'm' };

async function started(t: ExecutionContext): Promise<{ vendor: OpenAiServer; client: OpenAI }> {
  const vendor = await new OpenAiServer().start();
  const ports = testPorts();
  const server = await compatServer(target(model, vendor), ports);
  t.teardown(async () => {
    await server.stop();
    await ports.pools.close();
    await vendor.stop();
  });
  return { vendor, client: new OpenAI({ apiKey: 'key', baseURL: `${server.origin}/v1`, maxRetries: 0 }) };
}

function whole(message: object, finish_reason: string | null = 'stop', more: object = {}): string {
  return JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason }], ...more });
}

function streamed(deltas: readonly object[], finish_reason: string, more: object = {}): string {
  const chunk = (delta: object, finish: string | null): string =>
    sse({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
  const end = chunk({}, finish_reason) + sse({ ...head, choices: [], ...more }) + sse('[DONE]');
  return deltas.map((delta) => chunk(delta, null)).join('') + end;
}

/** A call without an id, whose arguments are an object. */
const call = { id: '', function: { name: 'weather', arguments: { city: 'Rome' }, of: 'the imitator' } };

test('a whole call gets an id, text as its arguments, and its finish reason', async (t) => {
  const { vendor, client } = await started(t);
  const ids: string[] = [];
  for (const written of [call, { ...call, id: undefined }, { ...call, id: null }]) {
    vendor.script({ garbage: whole({ role: 'assistant', content: null, tool_calls: [written] }) });
    const [choice] = (await client.chat.completions.create(asked)).choices;
    const [read] = choice?.message.tool_calls ?? [];
    if (choice === undefined || read?.type !== 'function') throw new Error('there is no call');
    t.is(choice.finish_reason, 'tool_calls');
    t.deepEqual(read.function, {
      name: 'weather',
      arguments: '{"city":"Rome"}',
      of: 'the imitator',
    } as object);
    ids.push(read.id);
    // The client sends it back as it came.
    const result = { role: 'tool' as const, tool_call_id: read.id, content: 'sunny' };
    await client.chat.completions.create({ ...asked, messages: [...asked.messages, choice.message, result] });
  }
  for (const id of ids) t.regex(id, /^[\w-]{1,40}$/);
  t.is(new Set(ids).size, ids.length, 'the ids of a conversation differ');
});

test('calls of streams get ids that differ between the answers', async (t) => {
  const { vendor, client } = await started(t);
  const ids = new Set<string>();
  for (let round = 0; round < 2; round += 1) {
    const calls = [call, call].map((each, index) => ({ ...each, index }));
    vendor.script({ garbage: streamed([{ tool_calls: calls }], 'tool_calls') });
    for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
      for (const { id } of choices[0]?.delta.tool_calls ?? []) if (id !== undefined) ids.add(id);
    }
  }
  t.is(ids.size, 4);
});

test('what OpenAI itself writes stays: other kinds of calls, a refusal, and reasons of other vendors', async (t) => {
  const { vendor, client } = await started(t);
  const custom = { id: 'call_1', type: 'custom', custom: { name: 'sql', input: 'select 1' } };
  vendor.script(
    { garbage: whole({ role: 'assistant', content: null, tool_calls: [custom] }, 'tool_calls') },
    { garbage: whole({ role: 'assistant', content: null, refusal: 'No.' }) },
    { garbage: whole({ role: 'assistant', content: 'x' }, 'model_length') },
    { garbage: whole({ role: 'assistant', content: 'x' }, '') },
  );
  const first = (await client.chat.completions.create(asked)).choices[0];
  t.deepEqual(first?.message.tool_calls, [custom] as object[]);
  const refused = (await client.chat.completions.create(asked)).choices[0];
  t.like(refused, { finish_reason: 'stop', message: { content: null, refusal: 'No.' } });
  t.is((await client.chat.completions.create(asked)).choices[0]?.finish_reason, 'model_length' as never);
  t.is((await client.chat.completions.create(asked)).choices[0]?.finish_reason, 'stop');
});

test('a list of texts and thoughts reads as text, whole and streamed', async (t) => {
  const { vendor, client } = await started(t);
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'let me think' }] },
    { type: 'text', text: 'Hello world' },
  ];
  vendor.script(
    { garbage: whole({ role: 'assistant', content }) },
    {
      garbage: streamed(
        [{ role: 'assistant', content: content.slice(0, 1) }, { content: [content[1]] }, { content: '!' }],
        'stop',
      ),
    },
  );
  const [choice] = (await client.chat.completions.create(asked)).choices;
  t.like(choice?.message, { content: 'Hello world', reasoning_content: 'let me think' });
  const seen = { content: '', thoughts: '' };
  for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
    const delta: { content?: string | null; reasoning_content?: string } = choices[0]?.delta ?? {};
    seen.content += delta.content ?? '';
    seen.thoughts += delta.reasoning_content ?? '';
  }
  t.deepEqual(seen, { content: 'Hello world!', thoughts: 'let me think' });
});

test('a whole refusal that answers a stream arrives as a refusal', async (t) => {
  const { vendor, client } = await started(t);
  vendor.isStream = () => false;
  vendor.script({ garbage: whole({ role: 'assistant', content: null, refusal: 'No.' }) });
  const seen = { content: '', refusal: '' };
  for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
    seen.content += choices[0]?.delta.content ?? '';
    seen.refusal += choices[0]?.delta.refusal ?? '';
  }
  t.deepEqual(seen, { content: '', refusal: 'No.' });
});

test("a stream keeps the other details of the vendor's usage, as a whole answer does", async (t) => {
  const { vendor, client } = await started(t);
  const usage = {
    prompt_tokens: 5,
    completion_tokens: 7,
    total_tokens: 12,
    completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 3 },
    cost: 0.5,
  };
  vendor.script(
    { garbage: whole({ role: 'assistant', content: 'Hi' }, 'stop', { usage }) },
    { garbage: streamed([{ content: 'Hi' }], 'stop', { usage }) },
  );
  const { usage: told } = await client.chat.completions.create(asked);
  t.like(told, usage);
  let last: unknown;
  const options = { stream: true, stream_options: { include_usage: true } } as const;
  for await (const chunk of await client.chat.completions.create({ ...asked, ...options }))
    last = chunk.usage ?? last;
  t.deepEqual(last, told);
});
