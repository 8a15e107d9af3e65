import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { openEvents } from '../support/clients/sockets.js';
import { sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import { calling } from '../support/builders/tool-turns.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const openai = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, openai);

interface Told {
  readonly sessions: readonly {
    session_id: string;
    last_message: { content: string; role: string } | null;
  }[];
}

test('the list of conversations is told of each message, with its beginning', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { api_key: key, agent_id } = bootstrap;
  const other = await shared.tenant(t);
  const url = `${client.baseUrl}/api/v1/realtime/sessions`;
  const stream = await openEvents(url, { 'x-api-key': key });
  const foreign = await openEvents(url, { 'x-api-key': other.bootstrap.api_key });
  const told = (): Told[] =>
    stream
      .events()
      .flatMap((text) =>
        text.includes('sessions_changed') ? [JSON.parse(text.split('data: ')[1] ?? '')] : [],
      );
  const made = await client.call('POST', '/api/sessions', { key, body: { agent_id } });
  const { session_id } = made.json.data;
  const body = { message: 'A question for the list', session_id };
  const turn = await client.call('POST', `/api/v2/agents/${agent_id}/stream`, { key, body });
  t.is(turn.status, 200, turn.text);
  await eventually(() =>
    told().some(({ sessions }) =>
      sessions.some((one) => one.session_id === session_id && one.last_message?.role === 'assistant'),
    ),
  );
  const listed = await client.call('GET', '/api/v1/sessions?preview=true', { key });
  t.is(listed.json.data[0].last_message.role, 'assistant');
  t.regex(listed.json.data[0].last_message.content, /A question for the list/);
  const plain = await client.call('GET', '/api/v1/sessions', { key });
  t.false('last_message' in plain.json.data[0]);
  t.deepEqual(foreign.events(), [], 'another tenant is told nothing');
  stream.close();
  foreign.close();
});

test('messages are listed from the newest on, and the calls of a turn with their attempts', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { api_key: key, agent_id } = bootstrap;
  const say = (message: string, session_id?: string) =>
    client.call('POST', `/api/v2/agents/${agent_id}/stream`, { key, body: { message, session_id } });
  const first = await say('one');
  const { session_id } = JSON.parse(/^data: (.*)$/m.exec(first.text)?.[1] ?? '{}');
  await say('two', session_id);
  const path = `/api/v1/sessions/${session_id}/messages?order=desc&limit=3`;
  const { json } = await client.call('GET', path, { key });
  const contents = (rows: { content: string; role: string }[]) => rows.map(({ role }) => role);
  t.deepEqual(contents(json.data), ['assistant', 'user', 'assistant']);
  t.is(json.data[1].content, 'two');
  const rest = await client.call(
    'GET',
    `${path}&cursor=${json.pagination?.next_cursor ?? json.next_cursor}`,
    { key },
  );
  t.deepEqual(
    rest.json.data.map(({ content }: { content: string }) => content),
    ['one'],
  );
  const executionId = json.data[0].execution_id;
  const calls = await eventually(async () => {
    const answer = await client.call('GET', `/api/v1/executions/${executionId}/calls`, { key });
    return answer.json.data.length > 0 ? answer.json.data : undefined;
  });
  t.is(calls[0].model, 'sim.echo');
  t.is(calls[0].attempts.length, 1);
  t.is(calls[0].attempts[0].outcome, 'completed');
  const other = await shared.tenant(t);
  const foreign = await client.call('GET', `/api/v1/executions/${executionId}/calls`, {
    key: other.bootstrap.api_key,
  });
  t.is(foreign.status, 404);
});

test.serial('the end of a turn is an interaction of its session also if it answers nothing', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { api_key: key } = bootstrap;
  const call = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const body = { name: 'fails', llm_config: { model: 'openai.gpt-4.1-mini' } };
  const agent = (await client.call('POST', '/api/agents', { ...call, body })).json.data.id;
  await client.call('POST', `/api/agents/${agent}/publish`, { ...call, body: {} });
  const message = { message: 'Is anybody there?' };
  openai.script({ status: 500 }, { status: 500 }, { status: 500 });
  const turn = await client.call('POST', `/api/v2/agents/${agent}/stream`, { key, body: message });
  const { session_id, execution_id } = JSON.parse(/^data: (.*)$/m.exec(turn.text)?.[1] ?? '{}');
  const execution = (await client.call('GET', `/api/v1/executions/${execution_id}`, { key })).json.data;
  t.is(execution.outcome, 'FAILED');
  const session = (await client.call('GET', `/api/v1/sessions/${session_id}`, { key })).json.data;
  t.is(session.last_interaction, execution.finished_at);
});

test.serial('a turn that begins to wait for a person is an interaction of its session', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const { api_key: key } = bootstrap;
  const { editor_schema, ...tool } = httpTool('pay', 'http://127.0.0.1:1/pay') as { editor_schema: object };
  const schemas = [{ ...tool, editor_schema: { ...editor_schema, approval: 'always' } }];
  const agent = await publishAgent(client, bootstrap, { model: 'openai.gpt-4.1-mini', schemas });
  openai.script(calling(['pay', {}]));
  const body = { message: 'Pay it.' };
  const turn = client.call('POST', `/api/v2/agents/${agent}/stream`, { key, body });
  const pending = await eventually(
    async () => (await client.call('GET', '/api/v1/approvals?status=pending', { key })).json.data[0],
  );
  const path = `/api/v1/sessions/${pending.session_id}`;
  const session = (await client.call('GET', path, { key })).json.data;
  const [asked] = (await client.call('GET', `${path}/messages`, { key })).json.data;
  t.true(Date.parse(session.last_interaction) > Date.parse(asked.created_at));
  await client.call('POST', `${path}/cancel`, { key, body: {} });
  await turn;
});
