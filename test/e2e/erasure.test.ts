// After an erasure no table holds a word of the person, and no row of the conversation but figures and cost is left.
import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { tablesWith } from '../support/database/tables-with.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import {
  createTrigger,
  endBuffers,
  executionOf,
  executionsOf,
  sendSigned,
} from '../support/builders/triggers.js';

/** What names a conversation after its erasure: figures, cost, fences, and what was done to it. */
const tablesWithFigures = /^(calls\w*|usage_rows|actors|audit_entries|changes|work_counts)$/;

const marker = (): string => `planted${randomBytes(10).toString('hex')}`;

interface Planted {
  readonly sessionIds: readonly string[];
  readonly talk: Awaited<ReturnType<typeof startConversations>>;
}

/** One session of the stream and one of a webhook with a callback, of the consumer `word`. */
async function plant(t: ExecutionContext, node: TestNode, word: string): Promise<Planted> {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, { taken: word }));
  const talk = await startConversations(node);
  const agentId = await talk.agent('openai.gpt-4.1-mini', {
    metadata: { memory: { enabled: true, window_messages: 2, summarize_after: 4 } },
  });
  const first = await talk.say(
    {
      message: `tell of ${word}`,
      consumer_key: word,
      context: { note: word, _hidden: word, consumer_name: word },
      metadata: { trace_id: word },
      attachments: [{ type: 'file', name: `${word}.txt`, data: Buffer.from(word).toString('base64') }],
    },
    { agentId },
  );
  const { sessionId } = first;
  await talk.say({ message: `more of ${word}`, session_id: sessionId }, { agentId });
  await talk.say({ message: `and more of ${word}`, session_id: sessionId }, { agentId });
  await eventually(async () => (await talk.get(`/api/v1/consumers/${word}/memory`)).data.facts.length > 0);
  await talk.post(`/api/v1/sessions/${sessionId}/suspend`, { reason: `since ${word}` });
  const trigger = await createTrigger(node, {
    execution: { mode: 'async', callback: { url: receiver.url } },
    session_strategy: { mode: 'derive', fields: ['from'] },
    sender_access: { identity_field: 'from' },
    context_mapping: { note: '$.note' },
  });
  const payload = { message: `hear ${word}`, from: word, note: word };
  const accepted = await sendSigned(node, trigger, payload, { 'idempotency-key': word });
  t.is(accepted.status, 202, accepted.text);
  const id = String(accepted.json.execution_id);
  await eventually(async () => {
    const { delivery_status: status } = (await talk.get(`/api/v1/executions/${id}`)).data;
    return status === undefined || status === 'delivered';
  });
  await eventually(async () => (await executionOf(node, trigger, id)).status === 'completed');
  const { session_id: webhookSession } = await executionOf(node, trigger, id);
  return { sessionIds: [sessionId ?? '', String(webhookSession)], talk };
}

async function nodeWithVendor(t: ExecutionContext, word: string) {
  const vendor = await new OpenAiServer().start();
  t.teardown(() => vendor.stop());
  vendor.decide = ({ body }) => ({
    pieces: JSON.stringify(body).includes('You keep the notes')
      ? [JSON.stringify({ summary: `of ${word}`, facts: [`likes ${word}`] })]
      : [`answer ${word}`],
  });
  return startTestNode(t, {
    environment: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: vendor.baseUrl },
  });
}

test('an erased consumer is in no table and no log; a block stays under a keyed hash', async (t) => {
  const word = marker();
  const node = await nodeWithVendor(t, word);
  const { client, bootstrap, databaseUrl } = node;
  const { sessionIds, talk } = await plant(t, node, word);
  await talk.post(`/api/v1/consumers/${word}/deny`, { reason: `because of ${word}` });
  const before = await tablesWith(databaseUrl, word);
  for (const table of [
    'attachments',
    'messages',
    'executions',
    'consumers',
    'consumer_facts',
    'sessions',
    'audit_entries',
  ])
    t.true(before.includes(table), `${table}: ${before.join()}`);
  t.true(before.some((name) => name.startsWith('calls')));

  const erase = () => client.call('DELETE', `/api/v1/consumers/${word}`, { key: bootstrap.api_key });
  const erased = await erase();
  t.is(erased.status, 200, erased.text);
  t.is(erased.json.data.sessions, 2);
  t.true(erased.json.data.messages >= 8);
  t.is(erased.json.data.executions, 4);
  t.deepEqual(await tablesWith(databaseUrl, word), []);
  for (const id of sessionIds) {
    const left = (await tablesWith(databaseUrl, id)).filter((name) => !tablesWithFigures.test(name));
    t.deepEqual(left, [], id);
  }
  t.false(node.log().includes(word));
  for (const path of ['', '/sessions'])
    t.is(
      (await client.call('GET', `/api/v1/consumers/${word}${path}`, { key: bootstrap.api_key })).status,
      404,
    );
  t.is((await erase()).json.error, 'not_found');

  const refused = await talk.say({ message: 'again', consumer_key: word });
  t.not(refused.events.at(-1)?.data['outcome'], 'COMPLETED', 'the block holds');
  await client.call('DELETE', `/api/v1/consumers/${word}/deny`, { key: bootstrap.api_key });
  const again = await talk.say({ message: 'again', consumer_key: word });
  t.is(again.events.find(({ type }) => type === 'response')?.data['content'], 'echo: again');
});

test('an erased session is in no table; the other sessions of its consumer stay', async (t) => {
  const word = marker();
  const node = await nodeWithVendor(t, word);
  const { client, bootstrap, databaseUrl } = node;
  const { sessionIds } = await plant(t, node, word);
  for (const id of sessionIds) {
    const { status, text } = await client.call('DELETE', `/api/v1/sessions/${id}`, {
      key: bootstrap.api_key,
    });
    t.is(status, 200, text);
    const left = (await tablesWith(databaseUrl, id)).filter((name) => !tablesWithFigures.test(name));
    t.deepEqual(left, [], id);
  }
  t.deepEqual(await tablesWith(databaseUrl, word), ['consumer_facts', 'consumers'], 'the profile alone');
  // An answer that is put into the outbox late finds the mark, also of a turn that had ended.
  const owner = await ownerView(databaseUrl);
  t.teardown(() => owner.end());
  const { rows } = await owner.query('select only_previews from ended_by_erasure');
  t.deepEqual(
    rows.map(({ only_previews }) => only_previews),
    [false, false, false, false],
  );
});

test('a person who was only ever refused is erased too', async (t) => {
  const word = marker();
  const node = await nodeWithVendor(t, word);
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    sender_access: { mode: 'whitelist', identity_field: 'from', identifiers: ['somebody'] },
  });
  t.is((await sendSigned(node, trigger, { message: `hear ${word}`, from: word })).status, 200);
  const erase = () =>
    node.client.call('DELETE', `/api/v1/consumers/${word}`, { key: node.bootstrap.api_key });
  await eventually(async () => (await tablesWith(node.databaseUrl, word)).includes('executions'));
  const erased = await erase();
  t.like(erased.json.data, { sessions: 0, messages: 0, executions: 1 }, erased.text);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  t.is((await erase()).json.error, 'not_found');
});

test('messages that wait in a buffer are erased before anything of the person is known', async (t) => {
  const word = marker();
  const node = await nodeWithVendor(t, word);
  const trigger = await createTrigger(node, {
    execution: {
      mode: 'async',
      callback: { url: 'https://receiver.example/' },
      message_buffer: { enabled: true, window_ms: 60_000 },
    },
    session_strategy: { mode: 'derive', fields: ['room'] },
    sender_access: { identity_field: 'from' },
  });
  const say = (from: string, message: string) => sendSigned(node, trigger, { message, from, room: 'hall' });
  t.is((await say(word, `hear ${word}`)).status, 202);
  t.is((await say('another', 'hear me')).status, 202);
  const erase = () =>
    node.client.call('DELETE', `/api/v1/consumers/${word}`, { key: node.bootstrap.api_key });
  const erased = await erase();
  t.like(erased.json.data, { sessions: 0, messages: 0, executions: 0 }, erased.text);
  await endBuffers(node);
  const ended = async () =>
    (await executionsOf(node, trigger)).filter(({ status }) => status === 'completed');
  await eventually(async () => (await ended()).length === 1, { what: 'the other message runs' });
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  t.is((await erase()).json.error, 'not_found');
});

test('a turn of a trigger that an erasure ends is not run again', async (t) => {
  const word = marker();
  const node = await nodeWithVendor(t, word);
  const talk = await startConversations(node);
  const slow = await talk.agent('sim.lorem-5000-50');
  const { client, bootstrap, databaseUrl } = node;
  const access = { client, bootstrap: { ...bootstrap, agent_id: slow } };
  const trigger = await createTrigger(access, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    sender_access: { identity_field: 'from' },
  });
  const answered = sendSigned(access, trigger, { message: `slowly ${word}`, from: word });
  const running = async (): Promise<boolean> =>
    (await talk.get(`/api/v1/executions?agent_id=${slow}&status=running`)).data.length === 1;
  await eventually(running, { what: 'the turn runs' });
  const erased = await client.call('DELETE', `/api/v1/consumers/${word}`, { key: bootstrap.api_key });
  t.is(erased.status, 200, erased.text);
  const { json } = await answered;
  t.is(json.agent_response, '', JSON.stringify(json));
  t.deepEqual((await talk.get(`/api/v1/executions?agent_id=${slow}`)).data, []);
  t.deepEqual(await tablesWith(databaseUrl, word), []);
});

test('a turn that runs during the erasure leaves no word', async (t) => {
  const word = marker();
  const node = await nodeWithVendor(t, word);
  const talk = await startConversations(node);
  const slow = await talk.agent('sim.lorem-5000-50');
  let hasEnded = false;
  const running = talk
    .say({ message: `slowly ${word}`, consumer_key: word }, { agentId: slow })
    .finally(() => (hasEnded = true));
  const sessions = () => talk.get(`/api/v1/consumers/${word}/sessions`);
  await eventually(async () => (await sessions()).data?.length === 1);
  t.false(hasEnded);
  const erased = await node.client.call('DELETE', `/api/v1/consumers/${word}`, {
    key: node.bootstrap.api_key,
  });
  t.is(erased.status, 200, erased.text);
  await running.catch(() => undefined);
  const closed = async (): Promise<boolean> => {
    const owner = await ownerView(node.databaseUrl);
    const { rows } = await owner.query('select from calls where execution_id is not null');
    await owner.end();
    return rows.length > 0;
  };
  await eventually(closed);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
});
