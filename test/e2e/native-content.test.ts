import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { ask, booksOf, framesOf, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server, { TROUPE_EGRESS_ALLOW: '127.0.0.0/8' });

const model = 'openai.gpt-4.1-mini';
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = Buffer.from('%PDF-1.4\n%%EOF').toString('base64');
const notes = Buffer.from('Rain at noon.').toString('base64');

const files = createServer((request, response) => {
  if (request.url === '/pixel')
    response.setHeader('content-type', 'text/plain').end(Buffer.from(pixel, 'base64'));
  else if (request.url === '/notes.txt')
    response.setHeader('content-type', 'text/plain').end('Rain at noon.');
  else if (request.url === '/large') response.end(Buffer.alloc(5 * 1024 * 1024 + 1));
  else response.writeHead(404).end();
});
test.before(() => new Promise<void>((started) => files.listen(0, '127.0.0.1', started)));
test.after.always(() => new Promise<void>((stopped) => files.close(() => stopped())));
const fileAt = (path: string): string => `http://127.0.0.1:${(files.address() as AddressInfo).port}${path}`;

const person = (...content: readonly object[]): object => ({ role: 'user', content });
const lastMessages = (): unknown => server.requests.at(-1)?.body['messages'];

test.serial(
  'parts of a message reach the vendor: texts, images, documents, and text files as text',
  async (t) => {
    const node = await shared.tenant(t);
    const message = person(
      { type: 'text', text: 'look' },
      { type: 'image', data: pixel, media_type: 'image/png' },
      { type: 'image', url: fileAt('/pixel') },
      { type: 'file', data: pdf, media_type: 'application/pdf', name: 'bill.pdf' },
      { type: 'file', data: notes, name: 'notes.txt' },
      { type: 'file', url: fileAt('/notes.txt') },
    );
    const answer = await ask(node, { model, messages: [message] });
    t.is(answer.status, 200, answer.text);
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } };
    t.deepEqual(lastMessages(), [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          image,
          image,
          { type: 'file', file: { filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
          { type: 'text', text: '<file name="notes.txt">\nRain at noon.\n</file>' },
          { type: 'text', text: '<file>\nRain at noon.\n</file>' },
        ],
      },
      { role: 'user', content: 'Hello there' },
    ]);
    t.is((await booksOf(node)).rows.length, 1);
  },
);

test.serial('options of a call reach the vendor, and tool calls come back and can be answered', async (t) => {
  const node = await shared.tenant(t);
  server.script({ toolCalls: [{ id: 'call_a', name: 'weather', args: ['{"city":', '"Rome"}'] }] });
  const tool = {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object' }, strict: true },
  };
  const asked = { model, tools: [tool], tool_choice: 'required', seed: 7, stop: ['END'], top_p: 0.5 };
  const { json } = await ask(node, asked);
  const call = {
    id: 'call_a',
    type: 'function',
    function: { name: 'weather', arguments: '{"city":"Rome"}' },
  };
  t.deepEqual([json.response, json.tool_calls], ['', [call]]);
  const { tools, tool_choice, seed, stop, top_p } = server.requests.at(-1)?.body ?? {};
  t.deepEqual(
    { tools, tool_choice, seed, stop, top_p },
    {
      tools: [tool],
      tool_choice: 'required',
      seed: 7,
      stop: ['END'],
      top_p: 0.5,
    },
  );
  const messages = [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_a', content: 'sunny' },
  ];
  t.is((await ask(node, { ...asked, messages, stream: true })).status, 200);
  t.deepEqual(lastMessages(), [...messages, { role: 'user', content: 'Hello there' }]);
  await ask(node, { model: 'openai.gpt-5.6-terra', reasoning: { effort: 'high' } });
  t.is(server.requests.at(-1)?.body['reasoning_effort'], 'high');
});

const city = {
  type: 'json_schema',
  json_schema: {
    name: 'city',
    schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

test.serial('an answer that does not fit the schema is asked for once more, then refused', async (t) => {
  const node = await shared.tenant(t);
  server.script({ pieces: ['{"city":', '"Rome"}'] });
  const first = await ask(node, { model, response_format: city });
  t.deepEqual([first.json.response, first.json.parsed], ['{"city":"Rome"}', { city: 'Rome' }]);
  t.deepEqual(server.requests.at(-1)?.body['response_format'], city);

  server.script({ pieces: ['{"town":"Rome"}'] }, { pieces: ['```json\n{"city":"Rome"}\n```'] });
  const second = await ask(node, { model, response_format: city, stream: true });
  const frames = framesOf(second);
  t.false(second.text.includes('town'), 'nothing of an answer that does not fit is sent');
  t.deepEqual(frames.at(-1)?.['parsed'], { city: 'Rome' });
  t.regex(JSON.stringify(lastMessages()), /must have required property 'city'/);

  server.script({ pieces: ['Rome'] }, { pieces: ['{"city":1}'] });
  const never = await ask(node, { model, response_format: city });
  t.deepEqual([never.status, never.json.error], [502, 'response_format_mismatch']);
  const { rows, counted } = await booksOf(node);
  t.is(rows.length, 5, 'each try is in the books');
  t.is(counted, server.billed.input + server.billed.output);
});

test.serial('bad content is refused with its field, and nothing is asked or booked', async (t) => {
  const node = await shared.tenant(t);
  const tooLarge = Buffer.alloc(5 * 1024 * 1024 + 1).toString('base64');
  const refusals: readonly (readonly [object, string])[] = [
    [{ type: 'image', data: '***', media_type: 'image/png' }, 'messages.0.content.0.data'],
    [{ type: 'image', data: pdf, media_type: 'image/png' }, 'messages.0.content.0.data'],
    [{ type: 'image', data: pixel, media_type: 'image/svg+xml' }, 'messages.0.content.0.media_type'],
    [{ type: 'file', data: pdf, media_type: 'image/png' }, 'messages.0.content.0.media_type'],
    [{ type: 'image', url: 'http://10.0.0.1/a.png' }, 'messages.0.content.0.url'],
    [{ type: 'image', url: 'file:///etc/passwd' }, 'messages.0.content.0.url'],
    [{ type: 'file', url: fileAt('/absent') }, 'messages.0.content.0.url'],
    [{ type: 'image' }, 'messages.0.content.0.data'],
    [{ type: 'image', url: fileAt('/pixel'), data: pixel }, 'messages.0.content.0.data'],
  ];
  for (const [part, field] of refusals) {
    const { status, json } = await ask(node, { model, messages: [person(part)] });
    t.deepEqual([status, json.error, json.details?.field], [400, 'validation_error', field], json.message);
  }
  for (const [part, field] of [
    [{ type: 'image', data: tooLarge, media_type: 'image/png' }, 'messages.0.content.0.data'],
    [{ type: 'file', data: tooLarge, media_type: 'application/pdf' }, 'messages.0.content.0.data'],
    [{ type: 'file', url: fileAt('/large') }, 'messages.0.content.0.url'],
  ] as const) {
    const { status, json } = await ask(node, { model, messages: [person(part)] });
    t.deepEqual([status, json.error, json.details?.field], [413, 'payload_too_large', field], json.message);
  }
  const schemaField = 'response_format.json_schema.schema';
  const schemas: readonly object[] = [
    { type: 'object', description: 'x'.repeat(3 * 1024 * 1024) },
    { type: 'nothing' },
    { $ref: 'https://elsewhere.example/schema' },
  ];
  for (const schema of schemas) {
    const format = { type: 'json_schema', json_schema: { name: 'a', schema } };
    const { status, json } = await ask(node, { model, response_format: format });
    t.deepEqual([status, json.error, json.details?.field], [400, 'validation_error', schemaField]);
  }
  const unreadable: readonly (readonly [object, string, string])[] = [
    [{ type: 'image', data: pixel }, 'sim.echo', 'image/png'],
    [{ type: 'file', data: pdf, name: 'bill.pdf' }, 'sim.echo', 'application/pdf'],
    [
      { type: 'file', data: Buffer.from([0, 1, 2]).toString('base64'), media_type: 'application/zip' },
      model,
      'application/zip',
    ],
  ];
  for (const [part, asked, mediaType] of unreadable) {
    const { status, json } = await ask(node, { model: asked, messages: [person(part)] });
    t.deepEqual([status, json.error], [400, 'unsupported_content']);
    t.is(json.details.model, asked);
    t.deepEqual([json.details.field, json.details.part.media_type], ['messages.0.content.0', mediaType]);
  }
  t.is(server.requests.length, 0);
  t.is((await booksOf(node)).rows.length, 0);
});
