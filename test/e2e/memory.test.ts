import test from 'ava';
import { startConversations } from '../support/servers/conversations.js';
import { ownerView } from '../support/database/owner-view.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const notes = { summary: 'They talked of boats.', facts: ['Likes boats.'] };

interface Asked {
  readonly role: string;
  readonly content: string;
}

test('messages outside the window are summarised, and facts of a person are known in the next session', async (t) => {
  const vendor = await new OpenAiServer().start();
  t.teardown(() => vendor.stop());
  const messagesOf = (body: Readonly<Record<string, unknown>>): Asked[] => body['messages'] as Asked[];
  const isSummary = (messages: readonly Asked[]): boolean =>
    JSON.stringify(messages[0]).includes('You keep the notes');
  vendor.decide = ({ body }) =>
    isSummary(messagesOf(body)) ? { pieces: [JSON.stringify(notes)] } : { pieces: ['Aye.'] };
  const node = await startTestNode(t, {
    environment: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: vendor.baseUrl },
  });
  const talk = await startConversations(node);
  const agentId = await talk.agent('openai.gpt-4.1-mini', {
    metadata: { memory: { enabled: true, window_messages: 2, summarize_after: 4 } },
  });
  const { sessionId } = await talk.say({ message: 'my name is Ada', consumer_key: 'ada' }, { agentId });
  const say = (message: string) => talk.say({ message, session_id: sessionId }, { agentId });
  await say('I like boats');
  await say('big ones');
  await eventually(() => vendor.requests.some(({ body }) => isSummary(messagesOf(body))));
  const remembered = () => talk.get('/api/v1/consumers/ada/memory');
  await eventually(async () => (await remembered()).data.facts.length > 0);
  t.deepEqual((await remembered()).data.facts, notes.facts);

  await say('and small ones');
  const last = messagesOf(vendor.requests.at(-1)?.body ?? {});
  t.regex(last[0]?.content ?? '', /They talked of boats\./);
  t.deepEqual(
    last.slice(1).map(({ content }) => content),
    ['big ones', 'Aye.', 'and small ones'],
    'older messages are in the summary alone',
  );

  await talk.say({ message: 'hello from elsewhere', consumer_key: 'ada' }, { agentId });
  const elsewhere = messagesOf(vendor.requests.at(-1)?.body ?? {});
  t.regex(elsewhere[0]?.content ?? '', /Likes boats\./);
  t.notRegex(elsewhere[0]?.content ?? '', /They talked of boats/);

  const { client, bootstrap } = node;
  await client.call('DELETE', '/api/v1/consumers/ada/memory', { key: bootstrap.api_key });
  t.deepEqual((await remembered()).data, { consumer_key: 'ada', facts: [], updated_at: null });
  await talk.say({ message: 'once more', consumer_key: 'ada' }, { agentId });
  t.notRegex(messagesOf(vendor.requests.at(-1)?.body ?? {})[0]?.content ?? '', /Likes boats/);
});

test('what a summary under way has read does not come back after it was deleted', async (t) => {
  const vendor = await new OpenAiServer().start();
  t.teardown(() => vendor.stop());
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  t.teardown(() => release());
  let summaries = 0;
  vendor.decide = ({ body }) => {
    if (!JSON.stringify(body['messages']).includes('You keep the notes')) return { pieces: ['Aye.'] };
    summaries += 1;
    const answer = { pieces: [JSON.stringify({ ...notes, summary: `Summary ${summaries}.` })] };
    return summaries === 2 ? { ...answer, until: held } : answer;
  };
  const node = await startTestNode(t, {
    environment: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: vendor.baseUrl },
  });
  const talk = await startConversations(node);
  const agentId = await talk.agent('openai.gpt-4.1-mini', {
    metadata: { memory: { enabled: true, window_messages: 2, summarize_after: 4 } },
  });
  const { sessionId } = await talk.say({ message: 'my name is Ada', consumer_key: 'ada' }, { agentId });
  const say = (message: string) => talk.say({ message, session_id: sessionId }, { agentId });
  const remembered = async (): Promise<readonly string[]> =>
    (await talk.get('/api/v1/consumers/ada/memory')).data.facts;
  await say('I like boats');
  await say('big ones');
  await eventually(async () => (await remembered()).length > 0);
  await say('and small ones');
  await say('and old ones');
  await eventually(() => summaries === 2, { what: 'the second summary is under way' });
  const { client, bootstrap } = node;
  await client.call('DELETE', '/api/v1/consumers/ada/memory', { key: bootstrap.api_key });
  release();
  const view = await ownerView(node.databaseUrl);
  t.teardown(() => view.end());
  const isStored = async (): Promise<boolean> => {
    const { rows } = await view.query('select summary from sessions where id = $1', [sessionId]);
    return rows[0]?.summary === 'Summary 2.';
  };
  await eventually(isStored, { what: 'the second summary is stored' });
  t.deepEqual(await remembered(), []);
});
