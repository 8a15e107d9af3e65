// Turns with attachments in the books, and a spent budget at every endpoint that asks a model.
import test from 'ava';
import { ask, booksOf, sharedNodeWithOpenAi, sumOf } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { tenantView } from '../support/database/owner-view.js';
import { startConversations } from '../support/servers/conversations.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import type { Script } from '../support/servers/vendors/vendor-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);
const model = 'openai.gpt-4.1-mini';
const soon = { 'retry-after-ms': '1' };
const answer: Script = { pieces: ['Yes', ', ', 'so'] };
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const attachments = [
  { type: 'image', data: pixel, media_type: 'image/png' },
  { type: 'file', data: Buffer.from('Rain at noon.').toString('base64'), name: 'notes.txt' },
];

/** The vendor's reactions to a turn, by a word of its message. */
const kinds: Readonly<Record<string, readonly [Script, Script?]>> = {
  straight: [answer],
  repeated: [{ status: 500, headers: soon }, answer],
  crowded: [{ status: 429, headers: soon }, answer],
  refused: [{ status: 400 }],
};

test.serial("turns with attachments of mixed outcomes equal the vendor's bill", async (t) => {
  t.timeout(120_000);
  const node = await shared.tenant(t);
  const talk = await startConversations(node, model);
  const seen = new Map<string, number>();
  server.decide = ({ body }) => {
    const [mark = '', word = ''] = /(\w+) number \d+/.exec(JSON.stringify(body)) ?? [];
    const [first, then = first] = kinds[word] ?? [answer];
    seen.set(mark, (seen.get(mark) ?? 0) + 1);
    return seen.get(mark) === 1 ? first : then;
  };
  const words = Object.keys(kinds);
  await Promise.all(
    Array.from({ length: 24 }, async (_, nth) => {
      const word = words[nth % words.length] ?? '';
      const { outcomes } = await talk.say({ message: `${word} number ${nth}`, attachments });
      t.deepEqual(outcomes, [word === 'refused' ? 'FAILED' : 'COMPLETED']);
    }),
  );
  const { rows, counted } = await eventually(async () => {
    const books = await booksOf(node);
    return books.rows.every(({ outcome }) => outcome !== null) ? books : undefined;
  });
  t.deepEqual(sumOf(rows), server.billed);
  t.is(rows.length, server.requests.length);
  t.is(counted, server.billed.input + server.billed.output);
});

test.serial('a cancelled turn with attachments is booked, and keeps them with its message', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, model);
  server.script({ ...answer, hangAfter: 2 });
  let session = '';
  const turn = talk.say(
    { message: 'wait', attachments },
    {
      onEvent: ({ data }) =>
        void (session ||= typeof data['session_id'] === 'string' ? data['session_id'] : ''),
    },
  );
  await eventually(() => session !== '' && server.requests.length === 1);
  const cancelled = async () => (await talk.post(`/api/v1/sessions/${session}/cancel`, {})).status === 200;
  await eventually(cancelled);
  t.deepEqual((await turn).outcomes, ['CANCELLED']);
  const { rows, counted } = await eventually(async () => {
    const books = await booksOf(node);
    return books.rows.length === 1 && books.rows[0]?.outcome !== null ? books : undefined;
  });
  const { input, output } = sumOf(rows);
  t.is(counted, input + output, 'the month has what the ledger has');
  const view = await tenantView(node);
  t.is((await view.query('select from attachments where message_id is not null')).rows.length, 2);
  await view.end();
});

test.serial('a spent budget refuses at every endpoint, before anything is asked', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, model);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const cost = Number((await ask(node, { model })).json.cost);
  for (const [crossing, body] of [
    ['/v1/embeddings', { model: 'text-embedding-3-small', input: 'Hello there' }],
    ['/v1/responses', { model: 'gpt-4.1-mini', input: 'Hello there' }],
  ] as const) {
    const usd = crossing === '/v1/embeddings' ? 1e-9 : cost / 2;
    const made = await node.client.call('POST', '/api/keys', {
      token,
      tenant,
      body: { name: crossing, role: 'admin', budget: { usd, period: 'month' } },
    });
    t.is(made.status, 201, made.text);
    const key: string = made.json.data.api_key;
    const first = await node.client.call('POST', crossing, { key, body });
    t.is(first.status, 200, `the call that crosses the budget is served: ${first.text}`);
    const asked = server.requests.length;
    const messages = [{ role: 'user', content: 'x' }];
    for (const [path, again] of [
      ['/v1/embeddings', { model: 'text-embedding-3-small', input: 'x' }],
      ['/v1/responses', { model: 'gpt-4.1-mini', input: 'x' }],
      ['/v1/chat/completions', { model: 'gpt-4.1-mini', messages }],
      ['/v1/messages', { model, max_tokens: 5, messages }],
      ['/api/v3/llm/public/call', { model, query: 'x' }],
      [`/api/v2/agents/${talk.agentId}/stream`, { message: 'x', attachments }],
    ] as const) {
      const refused = await node.client.call('POST', path, { key, body: again });
      t.is(refused.status, 429, `${path} after ${crossing}: ${refused.text}`);
      t.regex(refused.text, /quota_exceeded/, path);
    }
    t.is(server.requests.length, asked);
  }
});
