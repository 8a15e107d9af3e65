import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sharedNodeWithOpenAi, booksOf, ask } from '../support/clients/direct-calls.js';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { RefusedTurn } from '../support/clients/turn-reader.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { eventOf, startConversations } from '../support/servers/conversations.js';
import type { TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import type { Script } from '../support/servers/vendors/vendor-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

const model = 'openai.gpt-4.1-mini';
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const notes = Buffer.from('Rain at noon. <script>alert(1)</script>');
const image = { type: 'image', data: pixel, media_type: 'image/png', name: 'sky.png' };
const file = { type: 'file', data: notes.toString('base64'), media_type: 'text/html', name: 'notes.html' };
const shownImage = { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } };

const lastMessages = (): { role: string; content: unknown }[] =>
  server.requests.at(-1)?.body['messages'] as { role: string; content: unknown }[];

async function storedIn({ databaseUrl, bootstrap }: TenantNode): Promise<number> {
  const owner = await ownerView(databaseUrl);
  const { rows } = await owner.query('select count(*)::int as count from attachments where tenant_id = $1', [
    bootstrap.tenant_id,
  ]);
  await owner.end();
  return Number(rows[0].count);
}

test.serial(
  'attachments reach the model, in this turn and in later ones, and are shown with their message',
  async (t) => {
    const node = await shared.tenant(t);
    const talk = await startConversations(node, model);
    const turn = await talk.say({ attachments: [image, file] });
    t.is(turn.response, 'Hello world');
    t.deepEqual(eventOf(turn, 'metadata')?.['accepted_fields'], ['attachments']);
    const text = { type: 'text', text: `<file name="notes.html">\n${notes.toString()}\n</file>` };
    t.deepEqual(lastMessages().at(-1), { role: 'user', content: [shownImage, text] });
    await talk.say({ message: 'and now?', session_id: turn.sessionId });
    t.deepEqual(lastMessages().slice(1), [
      { role: 'user', content: [shownImage, text] },
      { role: 'assistant', content: 'Hello world' },
      { role: 'user', content: 'and now?' },
    ]);

    const { data: messages } = await talk.get(`/api/v1/sessions/${turn.sessionId}/messages`);
    const [first] = messages;
    const [{ id, ...picture }, { id: fileId, ...document }] = first.attachments;
    t.deepEqual(picture, {
      type: 'image',
      media_type: 'image/png',
      name: 'sky.png',
      bytes: Buffer.from(pixel, 'base64').length,
    });
    t.deepEqual(document, { type: 'file', media_type: 'text/html', name: 'notes.html', bytes: notes.length });
    t.deepEqual(messages[1].attachments, []);
    const read = (one: string, key = node.bootstrap.api_key): Promise<Response> =>
      fetch(`${node.client.baseUrl}/api/v1/attachments/${one}`, { headers: { 'x-api-key': key } });
    const content = await read(id);
    t.is(content.headers.get('content-type'), 'image/png');
    t.deepEqual(Buffer.from(await content.arrayBuffer()).toString('base64'), pixel);
    const page = await read(fileId);
    t.is(page.headers.get('content-type'), 'text/plain; charset=utf-8', 'a page of a sender is no page here');
    t.is(page.headers.get('content-disposition'), "attachment; filename*=UTF-8''notes.html");
    t.is(page.headers.get('x-content-type-options'), 'nosniff');
    t.regex(page.headers.get('content-security-policy') ?? '', /sandbox/);
    t.is(await page.text(), notes.toString());
    const stranger = await shared.tenant({ title: `${t.title} (stranger)` });
    t.is((await read(id, stranger.bootstrap.api_key)).status, 404);
    t.is((await read(randomUUID())).status, 404);

    const erased = await node.client.call('DELETE', `/api/v1/sessions/${turn.sessionId}`, {
      key: node.bootstrap.api_key,
    });
    t.is(erased.status, 200);
    t.is((await read(id)).status, 404);
    t.is(await storedIn(node), 0);
  },
);

test.serial(
  'a model without eyes names the images of earlier turns and refuses those of this one',
  async (t) => {
    const node = await shared.tenant(t);
    const talk = await startConversations(node, model);
    const turn = await talk.say({ message: 'look', attachments: [image] });
    const { access_token: token, tenant_id: tenant } = node.bootstrap;
    const agent = `/api/agents/${talk.agentId}`;
    await node.client.call('PATCH', agent, { token, tenant, body: { llm_config: { model: 'sim.echo' } } });
    await node.client.call('POST', `${agent}/publish`, { token, tenant, body: {} });
    const again = await talk.say({ message: 'and now?', session_id: turn.sessionId });
    t.is(again.response, 'echo: and now?');
    const refused = await t.throwsAsync(talk.say({ attachments: [image] }), { instanceOf: RefusedTurn });
    const { error, details } = JSON.parse(refused.body);
    t.deepEqual(
      [refused.status, error, details.model, details.field],
      [400, 'unsupported_content', 'sim.echo', 'attachments.0'],
    );
    t.is(await storedIn(node), 1);
  },
);

test.serial(
  'an image of an earlier turn is no obstacle where a name stands for a model without eyes',
  async (t) => {
    const node = await shared.tenant(t);
    const talk = await startConversations(node, model);
    const turn = await talk.say({ message: 'look', attachments: [image] });
    const { access_token: token, tenant_id: tenant } = node.bootstrap;
    const as = { token, tenant };
    const agent = `/api/agents/${talk.agentId}`;
    await node.client.call('PATCH', `/api/tenants/${tenant}`, {
      ...as,
      body: { model_aliases: { blind: 'sim.echo' } },
    });
    await node.client.call('PATCH', agent, { ...as, body: { llm_config: { model: 'blind' } } });
    await node.client.call('POST', `${agent}/publish`, { ...as, body: {} });
    const again = await talk.say({ message: 'and now?', session_id: turn.sessionId });
    t.is(again.response, 'echo: and now?');
  },
);

test.serial('bad attachments are refused, and nothing is asked, booked or stored', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, model);
  const cases: readonly (readonly [object, number, string, string])[] = [
    [{ attachments: Array.from({ length: 11 }, () => image) }, 400, 'VALIDATION_ERROR', 'attachments'],
    [{ attachments: 'none' }, 400, 'VALIDATION_ERROR', 'attachments'],
    [{ attachments: [{ ...image, type: 'sound' }] }, 400, 'VALIDATION_ERROR', 'attachments.0.type'],
    [{ attachments: [{ ...image, data: '!' }] }, 400, 'VALIDATION_ERROR', 'attachments.0.data'],
    [
      { attachments: [{ type: 'file', url: 'http://169.254.169.254/' }] },
      400,
      'VALIDATION_ERROR',
      'attachments.0.url',
    ],
    [{ attachments: [] }, 400, 'VALIDATION_ERROR', 'message'],
    [{ message: 'x'.repeat(4 * 1024 * 1024) }, 413, 'payload_too_large', ''],
    [{ message: 'x', context: { y: 'x'.repeat(4 * 1024 * 1024) } }, 413, 'payload_too_large', ''],
    [
      { attachments: [image, { type: 'file', data: Buffer.alloc(5 * 1024 * 1024 + 1).toString('base64') }] },
      413,
      'payload_too_large',
      'attachments.1.data',
    ],
    [{ message: 'x', attachments: [image], session_id: randomUUID() }, 404, 'not_found', ''],
    [
      {
        message: 'x',
        options: {
          response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'odd' } } },
        },
      },
      400,
      'VALIDATION_ERROR',
      'options.response_format.json_schema.schema',
    ],
    [
      { message: 'x', options: { response_format: { type: 'text' } } },
      400,
      'VALIDATION_ERROR',
      'options.response_format.type',
    ],
  ];
  for (const [body, status, code, field] of cases) {
    const refused = await t.throwsAsync(talk.say(body), { instanceOf: RefusedTurn });
    const { error, details } = JSON.parse(refused.body);
    t.deepEqual([refused.status, error, details?.field ?? ''], [status, code, field], refused.body);
  }
  t.is(await storedIn(node), 0);
  t.is(server.requests.length, 0);
  t.is((await booksOf(node)).rows.length, 0);
});

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const city = { type: 'json_schema', json_schema: { name: 'city', schema } };

test.serial('a turn with a response format gives a value that fits, or fails', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, model);
  const options = { response_format: city };
  server.script({ pieces: ['Rome'] }, { pieces: ['{"city":', '"Rome"}'] });
  const turn = await talk.say({ message: 'where?', options });
  t.deepEqual(eventOf(turn, 'metadata')?.['accepted_fields'], ['message', 'options.response_format']);
  t.is(turn.text, '{"city":"Rome"}', 'the first try is not shown');
  t.deepEqual(eventOf(turn, 'response')?.['parsed'], { city: 'Rome' });
  t.deepEqual(server.requests.at(-1)?.body['response_format'], city);
  const detail = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.deepEqual(detail.data.parsed, { city: 'Rome' });

  // Its text is sound JSON; its value holds NUL and half a character, which no row can hold.
  server.script({ pieces: ['{"city":"Ro\\u0000me\\ud83d"}'] });
  const odd = await talk.say({ message: 'where?', options });
  t.deepEqual(eventOf(odd, 'response')?.['parsed'], { city: 'Rome\uFFFD' });

  server.byDefault({ pieces: ['nowhere'] });
  const never = await talk.say({ message: 'where?', options });
  t.deepEqual(
    [eventOf(never, 'done')?.['outcome'], eventOf(never, 'error')?.['code']],
    ['FAILED', 'response_format_mismatch'],
  );
  t.is(never.text, '');
  const { rows, counted } = await booksOf(node);
  t.is(rows.length, 5);
  t.is(counted, server.billed.input + server.billed.output);

  server.byDefault({ pieces: ['{"city":"Oslo"}'] });
  const own = await talk.agent(model, { llm_config: { model, response_format: city } });
  t.deepEqual(eventOf(await talk.say('where?', { agentId: own }), 'response')?.['parsed'], { city: 'Oslo' });
  const mcp = await mcpClient(t, node.client.baseUrl, node.bootstrap.api_key);
  const called = await mcp.callTool({
    name: 'chat_with_agent',
    arguments: { agent_id: own, message: 'where?', attachments: [image] },
  });
  t.deepEqual(structured(called)['parsed'], { city: 'Oslo' });
});

test.serial('a chat over MCP takes an attachment as large as the stream does', async (t) => {
  const node = await shared.tenant(t);
  const { agentId } = await startConversations(node, model);
  server.byDefault({ pieces: ['Seen'] });
  const chat = async (args: object) => {
    const mcp = await mcpClient(t, node.client.baseUrl, node.bootstrap.api_key);
    return structured(
      await mcp.callTool({ name: 'chat_with_agent', arguments: { agent_id: agentId, ...args } }),
    );
  };
  const ofBytes = (bytes: number) => ({ ...image, data: Buffer.alloc(bytes, 1).toString('base64') });
  const largest = await chat({ attachments: [ofBytes(5 * 1024 * 1024)] });
  t.like(largest, { outcome: 'COMPLETED', accepted_fields: ['attachments'] });
  const larger = await chat({ attachments: [ofBytes(5 * 1024 * 1024 + 1)] });
  t.like(larger, { error: 'payload_too_large', details: { field: 'attachments.0.data' } });
  const mcp = await mcpClient(t, node.client.baseUrl, node.bootstrap.api_key);
  const elsewhere = { name: 'test_trigger', arguments: { trigger_id: agentId, payload: ofBytes(4_000_000) } };
  await t.throwsAsync(mcp.callTool(elsewhere), { message: /413|payload_too_large/ });
});

test.serial('a response format of a turn needs the privilege of context', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant, agent_id: agent } = node.bootstrap;
  const body = { message: 'hello you', options: { response_format: city } };
  const { text } = await node.client.call('POST', `/api/v2/agents/${agent}/stream`, { token, tenant, body });
  t.true(text.includes('{"field":"options.response_format","reason":"requires_admin_api_key"}'));
  t.true(text.includes('"outcome":"COMPLETED"'));
});

test.serial(
  'the books of calls and turns with parts equal the bill of the vendor, whatever became of them',
  async (t) => {
    const node = await shared.tenant(t);
    const talk = await startConversations(node, model);
    const pdf = {
      type: 'file',
      data: Buffer.from('%PDF-1.7 of a bill').toString('base64'),
      name: 'bill.pdf',
    };
    const answer = { pieces: ['{"city":', '"Rome"}'] };
    const scripts: readonly (readonly Script[])[] = [
      [answer],
      [{ status: 500 }, answer],
      [{ status: 429, headers: { 'retry-after-ms': '1' } }, answer],
      [{ status: 400 }],
      [{ pieces: ['Rome'] }, answer],
      [{ pieces: ['Rome'] }, { pieces: ['Rome'] }],
      [{ pieces: ['Rome'] }, { status: 400 }],
    ];
    const attachments = [image, pdf, file];
    const messages = [{ role: 'user', content: attachments }];
    for (const script of scripts) {
      for (const stream of [false, true]) {
        server.clearScripts();
        server.script(...script);
        await ask(node, { model, messages, stream, response_format: city });
      }
      server.clearScripts();
      server.script(...script);
      await talk.say({ attachments, options: { response_format: city } });
    }
    t.true(server.requests.length > scripts.length * 3);
    await eventually(
      async () => (await booksOf(node)).counted === server.billed.input + server.billed.output,
    );
    const { rows, counted } = await booksOf(node);
    t.is(counted, server.billed.input + server.billed.output);
    t.is(
      rows.filter(({ outcome }) => outcome === 'completed').length,
      server.requests.filter(({ billed }) => billed.output > 0).length,
    );
  },
);

test.serial('a webhook hands on mapped attachments, also without a text', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, model);
  const config = { auth: { type: 'none' }, context_mapping: { attachments: '$.files', note: '$.note' } };
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const made = await node.client.call('POST', '/api/triggers', {
    token,
    tenant,
    body: { agent_id: talk.agentId, name: 'files', trigger_type: 'webhook', trigger_config: config },
  });
  const path = `/api/triggers/webhook/${made.json.data.id}`;
  const long = { ...file, data: Buffer.from('long '.repeat(2_000)).toString('base64') };
  const answer = await node.client.call('POST', path, { body: { files: [image, long], note: 'now' } });
  t.is(answer.status, 200, answer.text);
  t.is(answer.json.agent_response, 'Hello world');
  const [shown, text, context] = (lastMessages().at(-1)?.content ?? []) as { text?: string }[];
  t.deepEqual(shown, shownImage);
  t.true(text?.text?.includes('long '.repeat(2_000)), 'attachments are not cut like values');
  t.false(context?.text?.includes('sky.png'));
  const execution = await talk.get(`/api/v1/executions/${answer.json.execution_id}`);
  const { data } = await talk.get(`/api/v1/sessions/${execution.data.session_id}/messages`);
  t.deepEqual(
    data[0].attachments.map(({ name }: { name: string }) => name),
    ['sky.png', 'notes.html'],
  );
  const calls = server.requests.length;
  const refused = await node.client.call('POST', path, {
    body: { message: 'x', files: [{ type: 'image', data: '!' }] },
  });
  t.deepEqual([refused.status, refused.json.details.field], [400, 'attachments.0.data']);
  const nothing = await node.client.call('POST', path, { body: { files: [] } });
  t.is(nothing.status, 400);
  t.is(server.requests.length, calls);
  t.is(await storedIn(node), 2);
});
