// A thread at Slack is one session of all who write in it; who wrote, who is denied and who is erased follow the author.
import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { sendFromSlack, slackTrigger, threadAt } from '../support/builders/slack.js';
import type { AgentToPublish } from '../support/builders/published-agents.js';
import { endBuffers, executionsOf, type TestTrigger } from '../support/builders/triggers.js';
import type { Json } from '../support/clients/client.js';
import { tenantView } from '../support/database/owner-view.js';
import { tablesWith } from '../support/database/tables-with.js';
import { type Conversations, startConversations } from '../support/servers/conversations.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { startNodes } from '../support/servers/nodes.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

interface Thread {
  readonly node: TenantNode;
  /** What Slack has got for the thread. */
  answers(): number;
  message(user: string, text: string, event?: object): object;
  readonly talk: Conversations;
  readonly trigger: TestTrigger;
  /** Resolves once the answer is at Slack. */
  say(user: string, text: string, event?: object): Promise<void>;
  /** The session of the thread. */
  session(): Promise<string>;
}

const patience = { timeoutMs: 60_000, everyMs: 50 };

let slack: ToolServer;
const vendor = new OpenAiServer();
const shared = sharedNode(test, async (atEnd) => {
  slack = await startToolServer(atEnd, (_request, response) => answerJson(response, { ok: true, ts: '9' }));
  await vendor.start();
  atEnd.teardown(() => vendor.stop());
  vendor.decide = ({ body }) => ({
    pieces: isSummary(body)
      ? [JSON.stringify({ summary: 'They talked.', facts: ['Talks.'] })]
      : [lastMessageOf(body).includes('say nothing') ? ' '.repeat(4_000) : 'Aye.'],
  });
  return {
    environment: {
      TROUPE_SLACK_BASE_URL: slack.url,
      OPENAI_API_KEY: 'sk-test',
      OPENAI_BASE_URL: vendor.baseUrl,
    },
  };
});
let channels = 0;

async function startThread(
  t: ExecutionContext,
  config: object = {},
  { model, schemas }: AgentToPublish = { model: 'openai.gpt-4.1-mini' },
): Promise<Thread> {
  const tenant = await shared.tenant(t);
  const talk = await startConversations(tenant);
  const memory = { enabled: true, window_messages: 4, summarize_after: 4 };
  const agent_id = await talk.agent(model, { metadata: { memory } }, schemas);
  const node = { ...tenant, bootstrap: { ...tenant.bootstrap, agent_id } };
  const trigger = await slackTrigger(node, config);
  channels += 1;
  const channel = `C${channels}`;
  const message = threadAt(channel);
  const answers = () => slack.heard.filter(({ body }) => JSON.parse(body).channel === channel).length;
  return {
    node,
    talk,
    trigger,
    answers,
    message,
    async say(user, text, event = {}) {
      const before = answers();
      const sent = await sendFromSlack(node, trigger, message(user, text, event));
      t.is(sent.status, 200, sent.text);
      await eventually(() => answers() > before, patience);
    },
    async session() {
      const ids = new Set((await executionsOf(node, trigger)).map(({ session_id: id }) => id));
      t.is(ids.size, 1, 'all in one session');
      return String([...ids][0]);
    },
  };
}

function isSummary(body: unknown): boolean {
  return JSON.stringify(body).includes('You keep the notes');
}

function lastMessageOf(body: Readonly<Record<string, unknown>>): string {
  return JSON.stringify((body['messages'] as Json[]).at(-1));
}

function promptOf(text: string): readonly Json[] {
  const asked = vendor.requests.find(({ body }) => lastMessageOf(body).includes(text));
  return (asked?.body['messages'] ?? []) as Json[];
}

test('the model knows who wrote, and what is known of a person is neither kept nor told', async (t) => {
  const { talk, say, session } = await startThread(t);
  await say('U1', 'I like boats');
  await say('U2', 'and I like trains');
  await say('U1', 'who likes what?');
  const prompt = JSON.stringify(promptOf('who likes what?'));
  t.regex(prompt, /I like boats/);
  t.regex(prompt, /and I like trains/);
  t.regex(prompt, /message_author[^}]*U2/);
  await say('U2', 'once more');
  await say('U1', 'and again');
  const hasNotes = ({ body }: { readonly body: unknown }) =>
    isSummary(body) && JSON.stringify(body).includes('(U2) and I like trains');
  await eventually(() => vendor.requests.some(hasNotes), patience);
  for (const key of ['U1', 'U2']) {
    t.deepEqual((await talk.get(`/api/v1/consumers/${key}/memory`)).data.facts, []);
    const listed = (await talk.get(`/api/v1/sessions?consumer_key=${key}`)).data;
    t.deepEqual(
      listed.map(({ session_id: id }: Json) => id),
      [await session()],
      `${key} finds the thread`,
    );
    t.is((await talk.get(`/api/v1/consumers/${key}/sessions`)).data.length, 1);
    const { data } = await talk.get(`/api/v1/consumers/${key}`);
    t.deepEqual([data.total_sessions, data.total_turns], [1, key === 'U1' ? 3 : 2]);
  }
  const messages: Json[] = (await talk.get(`/api/v1/sessions/${await session()}/messages`)).data;
  t.deepEqual(
    messages.filter(({ role }) => role === 'user').map(({ author }) => author),
    ['U1', 'U2', 'U1', 'U2', 'U1'].map((id) => ({ kind: 'consumer', id })),
  );
});

test('an answer of white space is no answer, and those after it arrive', async (t) => {
  const { node, trigger, message, answers, say } = await startThread(t);
  await sendFromSlack(node, trigger, message('U1', 'say nothing'));
  const first = await eventually(
    async () => (await executionsOf(node, trigger)).find(({ outcome }) => outcome !== null),
    patience,
  );
  t.is(first.outcome, 'COMPLETED');
  await say('U1', 'hello');
  t.is(answers(), 1);
  const runs = await executionsOf(node, trigger);
  t.is(runs.find(({ id }) => id === first.id)?.delivery_status, 'none');
});

test('a denied person is silent in the thread, the others go on, and a takeover is of all', async (t) => {
  const { node, talk, trigger, message, answers, say, session } = await startThread(t);
  await say('U1', 'hello');
  await say('U2', 'hello too');
  await talk.post('/api/v1/consumers/U1/deny', { reason: 'rude' });
  const later = (user: string, text: string) => sendFromSlack(node, trigger, message(user, text));
  await later('U1', 'am I heard?');
  const ofText = async (text: string) =>
    (await executionsOf(node, trigger)).find(({ input_preview: input }) => input === text);
  t.is((await ofText('am I heard?'))?.status, 'blocked');
  await say('U2', 'and I?');
  t.is((await ofText('and I?'))?.status, 'completed');
  t.is(answers(), 3);

  const id = await session();
  await talk.post(`/api/v1/sessions/${id}/handoff`, { reason: 'people' });
  await later('U2', 'to people');
  await eventually(async () => (await ofText('to people'))?.status === 'blocked', patience);
  await later('U3', 'a third one to people');
  await eventually(async () => (await ofText('a third one to people'))?.status === 'blocked', patience);
  t.is(answers(), 3, 'the agent is silent for all');
  const messages: Json[] = (await talk.get(`/api/v1/sessions/${id}/messages`)).data;
  t.deepEqual(messages.at(-1)?.['author'], { kind: 'consumer', id: 'U3' });
});

test('an erased person is in no table, and the thread of the others stays', async (t) => {
  const word = `planted${randomBytes(8).toString('hex')}`;
  const key = `U${word}`;
  const mapped = { context_mapping: { attachments: '$.event.files', note: '$.event.note' } };
  const { node, talk, trigger, message, say, session } = await startThread(t, mapped);
  await say(key, `tell of ${word}`, {
    note: word,
    files: [{ type: 'file', name: `${word}.txt`, data: Buffer.from(word).toString('base64') }],
  });
  await say('U2', 'what did they say?');
  await say(key, `more of ${word}`);
  await say('U2', 'thank you');
  const id = await session();
  await talk.post(`/api/v1/consumers/${key}/deny`, {});
  await sendFromSlack(node, trigger, message(key, `blocked ${word}`));
  const before = await tablesWith(node.databaseUrl, word);
  for (const table of [
    'attachments',
    'consumers',
    'executions',
    'messages',
    'session_participants',
    'sessions',
  ])
    t.true(before.includes(table), `${table}: ${before.join()}`);
  const summed = async () =>
    (await tablesWith(node.databaseUrl, word)).some((table) => table.startsWith('calls'));
  await eventually(summed, patience);

  const erase = () => node.client.call('DELETE', `/api/v1/consumers/${key}`, { key: node.bootstrap.api_key });
  const erased = await erase();
  t.is(erased.status, 200, erased.text);
  t.deepEqual(erased.json.data, { sessions: 0, messages: 4, executions: 3 });
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  t.false(node.log().includes(word));
  const left: Json[] = (await talk.get(`/api/v1/sessions/${id}/messages`)).data;
  t.deepEqual(
    left.map(({ content }) => content),
    ['what did they say?', 'Aye.', 'thank you', 'Aye.'],
  );
  t.is((await talk.get(`/api/v1/sessions/${id}`)).data.consumer_key, 'U2');

  await say('U2', 'is anybody there?');
  const prompt = JSON.stringify(promptOf('is anybody there?'));
  t.false(prompt.includes(word), 'the agent does not remember them');
  t.regex(prompt, /what did they say\?/);
  const rest = await node.client.call('DELETE', '/api/v1/consumers/U2', { key: node.bootstrap.api_key });
  t.deepEqual(rest.json.data, { sessions: 1, messages: 6, executions: 3 }, 'theirs alone now');
  t.is((await talk.get(`/api/v1/sessions/${id}`)).error, 'not_found');
});

test('a message joined from several people names them, and goes with each of them', async (t) => {
  const word = `planted${randomBytes(8).toString('hex')}`;
  const buffer = { execution: { mode: 'async', message_buffer: { enabled: true, window_ms: 60_000 } } };
  const { node, talk, trigger, message, answers, session } = await startThread(t, buffer);
  await sendFromSlack(node, trigger, message('U1', `the first of ${word}`));
  await sendFromSlack(node, trigger, message('U2', 'the second'));
  await endBuffers(node);
  await eventually(() => answers() === 1, patience);
  t.regex(JSON.stringify(promptOf('the second')), /\(U1\) the first of planted\w+\\\\?n\(U2\) the second/);
  t.is((await talk.get(`/api/v1/sessions?consumer_key=U1`)).data.length, 1);
  // One more of each waits in the buffer.
  await sendFromSlack(node, trigger, message('U1', `waiting ${word}`));
  await sendFromSlack(node, trigger, message('U2', 'waiting too'));
  const erased = await node.client.call('DELETE', '/api/v1/consumers/U1', { key: node.bootstrap.api_key });
  t.deepEqual(erased.json.data, { sessions: 0, messages: 2, executions: 1 });
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  await endBuffers(node);
  await eventually(() => answers() === 2, patience);
  const prompt = JSON.stringify(promptOf('waiting too'));
  t.regex(prompt, /waiting too/);
  t.false(prompt.includes(word), 'nor what waited');
  t.truthy(await session());
});

test('a joined message that nobody of its senders may send goes with each of them', async (t) => {
  const word = `planted${randomBytes(8).toString('hex')}`;
  const buffer = { execution: { mode: 'async', message_buffer: { enabled: true, window_ms: 60_000 } } };
  const { node, talk, trigger, message } = await startThread(t, buffer);
  await sendFromSlack(node, trigger, message('U1', `the first of ${word}`));
  await sendFromSlack(node, trigger, message('U2', 'the second'));
  for (const key of ['U1', 'U2']) await talk.post(`/api/v1/consumers/${key}/deny`, {});
  await endBuffers(node);
  const blocked = async () => (await executionsOf(node, trigger)).some(({ status }) => status === 'blocked');
  await eventually(blocked, patience);
  const erased = await node.client.call('DELETE', '/api/v1/consumers/U1', { key: node.bootstrap.api_key });
  t.deepEqual(erased.json.data, { sessions: 0, messages: 0, executions: 1 });
  t.deepEqual(await executionsOf(node, trigger), []);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
});

test("another's turn that runs during the erasure goes on and leaves no word", async (t) => {
  const word = `planted${randomBytes(8).toString('hex')}`;
  const tool = await startHeldTool(t);
  const { node, trigger, message, answers, say } = await startThread(t, {}, tool.agent);
  await say('U1', `tell of ${word}`);
  await sendFromSlack(node, trigger, message('U2', 'wait meanwhile'));
  await eventually(() => tool.heard.length === 1, patience);
  const erased = await node.client.call('DELETE', '/api/v1/consumers/U1', { key: node.bootstrap.api_key });
  t.deepEqual(erased.json.data, { sessions: 0, messages: 2, executions: 1 });
  t.is(answers(), 1, 'the turn runs');
  tool.release();
  await eventually(() => answers() === 2, patience);
  const [left, ...others] = await executionsOf(node, trigger);
  t.deepEqual([left?.status, left?.input_preview, others.length], ['completed', 'wait meanwhile', 0]);
  const rows = await tenantView(node);
  const counted = async () => (await rows.query('select from calls')).rows.length === 3;
  await eventually(counted, patience);
  await rows.end();
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
});

test('people of one thread whose messages come to different nodes are in one session', async (t) => {
  t.timeout(180_000);
  const heard = await startToolServer(t, (_request, response) => answerJson(response, { ok: true, ts: '9' }));
  const { nodes, bootstrap } = await startNodes(t, {
    count: 2,
    environment: { TROUPE_SLACK_BASE_URL: heard.url },
  });
  const [first, second] = nodes;
  if (first === undefined || second === undefined) throw new Error('there are two');
  const node = { client: first.client, bootstrap };
  const trigger = await slackTrigger(node);
  for (const channel of ['C1', 'C2', 'C3', 'C4']) {
    const message = threadAt(channel);
    // Slack sends a refused message again.
    const send = (to: typeof first, payload: object): Promise<unknown> =>
      eventually(async () => (await sendFromSlack(to, trigger, payload)).status === 200, patience);
    await Promise.all([
      send(first, message('U1', `one in ${channel}`)),
      send(second, message('U2', `two in ${channel}`)),
      send(second, message('U1', `three in ${channel}`)),
    ]);
  }
  await eventually(() => heard.heard.length === 12, patience);
  const runs = await executionsOf(node, trigger);
  t.is(runs.filter(({ status }) => status === 'completed').length, 12);
  t.is(new Set(runs.map(({ session_id: id }) => id)).size, 4);
  const erase = (key: string) =>
    second.client.call('DELETE', `/api/v1/consumers/${key}`, { key: bootstrap.api_key });
  t.deepEqual((await erase('U1')).json.data, { sessions: 0, messages: 16, executions: 8 });
  t.deepEqual((await erase('U2')).json.data, { sessions: 4, messages: 8, executions: 4 });
});
