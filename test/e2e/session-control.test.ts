import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import {
  type Conversations,
  eventOf,
  startConversations,
  typesOf,
} from '../support/servers/conversations.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { makeTenant } from '../support/builders/tenants.js';

const shared = sharedNode(test);

/** A tenant that talks to its agent. */
async function newTalk(t: ExecutionContext): Promise<{ node: TenantNode; talk: Conversations }> {
  const node = await shared.tenant(t);
  return { node, talk: await startConversations(node) };
}

test('a session is created, found, listed, read and erased', async (t) => {
  const { node, talk } = await newTalk(t);
  const made = await talk.post('/api/sessions', {
    agent_id: talk.agentId,
    consumer_key: 'crm-7',
    metadata: { ticket: 7 },
  });
  t.is(made.status, 201);
  t.deepEqual(Object.keys(made.json.data).toSorted(), [
    'agent_id',
    'control_mode',
    'created_at',
    'session_id',
  ]);
  const id = String(made.json.data.session_id);
  const turn = await talk.say({ message: 'hello there, what is new?', session_id: id });
  t.is(turn.sessionId, id);
  const { data } = await talk.get(`/api/v1/sessions/${id}`);
  t.is(data.consumer_key, 'crm-7');
  t.is(data.total_turns, 1);
  t.is(data.control_mode, 'engaged');
  t.is(data.ended_at, null);
  const listed = await talk.get('/api/v1/sessions?consumer_key=crm-7&limit=1');
  t.deepEqual(
    listed.data.map(({ session_id }: { session_id: string }) => session_id),
    [id],
  );
  t.is(listed.next_cursor, null);
  const first = await talk.get(`/api/v1/sessions/${id}/messages?limit=1`);
  t.is(first.data[0].role, 'user');
  const second = await talk.get(`/api/v1/sessions/${id}/messages?limit=1&cursor=${first.next_cursor}`);
  t.is(second.data[0].content, 'echo: hello there, what is new?');
  const { bootstrap, client } = node;
  const erased = await client.call('DELETE', `/api/v1/sessions/${id}`, { key: bootstrap.api_key });
  t.is(erased.status, 200);
  const gone = await client.call('GET', `/api/v1/sessions/${id}`, { key: bootstrap.api_key });
  t.is(gone.status, 404);
  const execution = await client.call('GET', `/api/v1/executions/${turn.executionId}`, {
    key: bootstrap.api_key,
  });
  t.is(execution.status, 404);
});

test('sessions are found by words, channel, days and end, and executions by days', async (t) => {
  const { node, talk } = await newTalk(t);
  const { sessionId } = await talk.say({ message: 'the quick brown zebra' });
  await talk.say({ message: 'a slow grey zebra' });
  const other = await newTalk(t);
  await other.talk.say({ message: 'the quick brown zebra' });
  const found = async (query: string): Promise<number> => (await talk.get(`/api/v1/sessions?${query}`)).count;
  t.is(await found('search=zebra'), 2);
  t.is(await found('search=zebra%20Quick'), 1);
  t.is(await found('search=zeb'), 0);
  t.is(await found('search=%21'), 0);
  t.is(await found(`search=${node.bootstrap.tenant_id}`), 0, 'the tenant is not a word of the transcript');
  t.is(await found('channel=chat'), 2);
  t.is(await found('channel=twilio'), 0);
  t.is(await found('ended=true'), 0);
  t.is(await found('ended=false'), 2);
  t.is(await found('end_date=2020-01-01'), 0);
  t.is(await found('start_date=2020-01-01'), 2);
  t.is((await talk.get('/api/v1/executions?end_date=2020-01-01')).count, 0);
  t.is((await talk.get('/api/v1/executions?start_date=2020-01-01')).count, 2);
  await node.client.call('DELETE', `/api/v1/sessions/${sessionId}`, { key: node.bootstrap.api_key });
  t.is(await found('search=quick'), 0);
});

test('a session erased during its turns stays erased, and its readers and monitors receive the end', async (t) => {
  const { node, talk } = await newTalk(t);
  const agentId = await talk.agent('sim.lorem-5000-50');
  let sessionId = '';
  let deltas = 0;
  let waiting = 0;
  const running = talk.say('words', {
    agentId,
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
      if (type === 'delta') deltas += 1;
    },
  });
  await eventually(() => deltas > 0);
  const queued = talk.say(
    { message: 'more words', session_id: sessionId },
    { agentId, onEvent: ({ type }) => void (waiting += type === 'metadata' ? 1 : 0) },
  );
  await eventually(() => waiting === 1);
  const { bootstrap, client } = node;
  const path = `/api/v1/sessions/${sessionId}`;
  const monitor = await fetch(`${client.baseUrl}${path}/stream`, {
    headers: { 'x-api-key': bootstrap.api_key },
  });
  t.is((await client.call('DELETE', path, { key: bootstrap.api_key })).status, 200);
  for (const { outcomes } of await Promise.all([running, queued])) t.deepEqual(outcomes, ['CANCELLED']);
  // Ends with the session; otherwise the monitor would stay open for five minutes.
  await monitor.text();
  t.is((await client.call('GET', path, { key: bootstrap.api_key })).status, 404);
  const { executionId } = await running;
  const execution = await client.call('GET', `/api/v1/executions/${executionId}`, { key: bootstrap.api_key });
  t.is(execution.status, 404);
});

test('the monitor of an idle session connects at once', async (t) => {
  const { node, talk } = await newTalk(t);
  const { bootstrap, client } = node;
  const made = await talk.post('/api/sessions', { agent_id: talk.agentId });
  const leave = new AbortController();
  // The comments that keep a connection alive, which come every 15 s, have other words.
  const late = setTimeout(() => leave.abort(), 60_000);
  t.teardown(() => {
    clearTimeout(late);
    leave.abort();
  });
  const monitor = await fetch(`${client.baseUrl}/api/v1/sessions/${made.json.data.session_id}/stream`, {
    headers: { 'x-api-key': bootstrap.api_key },
    signal: leave.signal,
  });
  t.is(monitor.status, 200);
  const first = await monitor.body?.getReader().read();
  t.is(new TextDecoder().decode(first?.value), ': open\n\n');
});

test('a consumer_key of a signed-in user is ignored, and the answer says so', async (t) => {
  const { node, talk } = await newTalk(t);
  const { bootstrap, client } = node;
  const { status, json } = await client.call('POST', '/api/sessions', {
    token: bootstrap.access_token,
    tenant: bootstrap.tenant_id,
    body: { agent_id: talk.agentId, consumer_key: { not: 'even a text' } },
  });
  t.is(status, 201);
  t.deepEqual(json.data.ignored_fields, [{ field: 'consumer_key', reason: 'requires_admin_api_key' }]);
});

test('invalid metadata opens no session and is refused like every field of this endpoint', async (t) => {
  const { talk } = await newTalk(t);
  for (const metadata of [[1], { nested: {} }, { long: 'x'.repeat(257) }]) {
    const refused = await talk.post('/api/sessions', { agent_id: talk.agentId, metadata });
    t.is(refused.status, 400);
    t.is(refused.json.error, 'validation_error');
    t.true(refused.json.details.field.startsWith('metadata'));
  }
});

test('while a person controls the session its messages are stored and the agent does not run', async (t) => {
  const { talk } = await newTalk(t);
  const { sessionId } = await talk.say('first of all');
  const handed = await talk.post(`/api/v1/sessions/${sessionId}/handoff`, { reason: 'a person asked' });
  t.is(handed.status, 200);
  t.is(handed.json.data.control_mode, 'manual_handoff');
  t.is(handed.json.data.control_metadata.kind, 'handoff');
  t.is(handed.json.data.control_metadata.reason, 'a person asked');
  const turn = await talk.say({ message: 'is anybody there?', session_id: sessionId });
  t.deepEqual(turn.outcomes, ['SUSPENDED']);
  t.false(typesOf(turn).includes('response'));
  const execution = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.is(execution.data.status, 'blocked');
  t.is(execution.data.model, null);
  const said = await talk.get(`/api/v1/sessions/${sessionId}/messages`);
  t.deepEqual(
    said.data.map(({ content }: { content: string }) => content),
    ['first of all', 'echo: first of all', 'is anybody there?'],
  );
  const suspended = await talk.post(`/api/v1/sessions/${sessionId}/suspend`);
  t.is(suspended.json.data.control_metadata.kind, 'suspend');
  const listed = await talk.get('/api/v1/sessions?control_mode=manual_handoff');
  t.true(listed.data.some(({ session_id }: { session_id: string }) => session_id === sessionId));
  const resumed = await talk.post(`/api/v1/sessions/${sessionId}/resume`);
  t.is(resumed.json.data.control_mode, 'engaged');
  t.deepEqual((await talk.say({ message: 'and now?', session_id: sessionId })).outcomes, ['COMPLETED']);
});

test('a timed handoff ends by itself', async (t) => {
  const { node, talk } = await newTalk(t);
  const { sessionId } = await talk.say('first of all');
  for (const expires of [0, 604_801, 1.5, 'soon']) {
    const { status } = await talk.post(`/api/v1/sessions/${sessionId}/handoff`, {
      expires_in_seconds: expires,
    });
    t.is(status, 400, String(expires));
  }
  await talk.post(`/api/v1/sessions/${sessionId}/handoff`, { expires_in_seconds: 1 });
  await eventually(
    async () => (await talk.get(`/api/v1/sessions/${sessionId}`)).data.control_mode === 'engaged',
  );
  const events = await fetch(`${node.client.baseUrl}/api/v1/realtime/events`, {
    headers: { 'x-api-key': node.bootstrap.api_key, 'last-event-id': '0' },
  });
  let text = '';
  for await (const chunk of events.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(`"reason":"expired"`) && text.includes(sessionId)) break;
  }
  t.regex(text, /session_control_changed/);
});

test('a handoff during a turn ends it without further text', async (t) => {
  const { talk } = await newTalk(t);
  const agentId = await talk.agent('sim.lorem-5000-50');
  let sessionId = '';
  let deltas = 0;
  const turn = talk.say('words', {
    agentId,
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
      if (type === 'delta') deltas += 1;
    },
  });
  await eventually(() => deltas >= 3);
  await talk.post(`/api/v1/sessions/${sessionId}/handoff`);
  const atAnswer = deltas;
  const ended = await turn;
  t.deepEqual(ended.outcomes, ['SUSPENDED']);
  t.is(deltas, atAnswer, 'nothing came after the handoff was answered');
  t.is(ended.response, undefined);
});

test('a denied consumer is blocked without a model call until the denial is removed', async (t) => {
  const { node, talk } = await newTalk(t);
  const { client, bootstrap } = node;
  t.is((await talk.post('/api/v1/consumers/mallory/deny', { reason: null })).status, 200);
  const denied = await talk.post('/api/v1/consumers/mallory/deny', { reason: 'abuse' });
  t.is(denied.status, 200);
  t.true(denied.json.data.blocked);
  const turn = await talk.say({ message: 'let me in', consumer_key: 'mallory' });
  t.deepEqual(turn.outcomes, ['BLOCKED']);
  t.is(eventOf(turn, 'metrics')?.['model'], null);
  const { data } = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.is(data.status, 'blocked');
  await client.call('DELETE', '/api/v1/consumers/mallory/deny', { key: bootstrap.api_key });
  const again = await talk.say({ message: 'and now?', consumer_key: 'mallory' });
  t.deepEqual(again.outcomes, ['COMPLETED']);
});

test('a member re-attaches to the streams of its own turns and to no others', async (t) => {
  const { node, talk } = await newTalk(t);
  const tenant = await makeTenant(node);
  const user = { token: tenant.users.owner.token, tenant: tenant.tenantId };
  const made = await node.client.call('POST', '/api/agents', {
    ...user,
    body: { name: 'open-to-all', llm_config: { model: 'sim.echo' } },
  });
  const agentId = String(made.json.data.id);
  await node.client.call('POST', `/api/agents/${agentId}/publish`, { ...user, body: {} });
  const own = await talk.say('mine', { agentId, key: tenant.keys.member });
  const other = await talk.say('not mine', { agentId, key: tenant.keys.admin });
  const read = (id: string) =>
    fetch(`${node.client.baseUrl}/api/v1/executions/${id}/stream`, {
      headers: { 'x-api-key': tenant.keys.member },
    });
  t.is((await read(own.executionId)).status, 200);
  t.is((await read(other.executionId)).status, 404);
  const listed = await node.client.call('GET', '/api/v1/executions', { key: tenant.keys.member });
  t.is(listed.status, 403);
});

interface Receiver {
  readonly url: string;
  readonly bodies: string[];
  status: number;
}

async function receiver(t: ExecutionContext): Promise<Receiver> {
  const bodies: string[] = [];
  const state = { url: '', bodies, status: 200 };
  const server: Server = createServer((request: IncomingMessage, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(state.status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  return state;
}

test("a manual message is sent through the session's callback, once per key", async (t) => {
  const { node, talk } = await newTalk(t);
  const { client, bootstrap } = node;
  const callback = await receiver(t);
  const { sessionId: untriggered } = await talk.say('by stream');
  const send = (id: string, message: string, key?: string) =>
    client.call('POST', `/api/v1/sessions/${id}/manual-message`, {
      key: bootstrap.api_key,
      body: { message },
      ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
    });
  const codeOf = async (answer: ReturnType<typeof send>): Promise<[number, string]> => {
    const { status, json } = await answer;
    return [status, json.error];
  };
  t.deepEqual(await codeOf(send(untriggered, 'hello')), [409, 'INVALID_SESSION_STATE']);
  await talk.post(`/api/v1/sessions/${untriggered}/handoff`);
  t.deepEqual(await codeOf(send(untriggered, 'hello')), [422, 'NO_TRIGGER_HISTORY']);

  const user = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const hook = async (execution: object): Promise<string> => {
    const { status, json, text } = await client.call('POST', '/api/triggers', {
      ...user,
      body: {
        agent_id: talk.agentId,
        name: 'inbound',
        trigger_type: 'webhook',
        trigger_config: {
          auth: { type: 'none' },
          context_mapping: { from: '$.from' },
          session_strategy: { mode: 'derive', fields: ['from'] },
          execution,
        },
      },
    });
    if (status !== 201) throw new Error(text);
    return String(json.data.id);
  };
  const sessionBy = async (trigger: string, from: string): Promise<string> => {
    const { status, text } = await client.call('POST', `/api/triggers/webhook/${trigger}`, {
      body: { message: 'hello agent', from },
    });
    if (status >= 300) throw new Error(text);
    return eventually(async () => {
      const { data } = await talk.get(`/api/triggers/${trigger}/executions?limit=1`);
      return data[0]?.status === 'completed' ? String(data[0].session_id) : undefined;
    });
  };
  const silent = await sessionBy(await hook({ mode: 'async' }), 'ann');
  await talk.post(`/api/v1/sessions/${silent}/handoff`);
  t.deepEqual(await codeOf(send(silent, 'hello')), [422, 'NO_CALLBACK_CONFIG']);

  const session = await sessionBy(await hook({ mode: 'async', callback: { url: callback.url } }), 'bea');
  await eventually(() => callback.bodies.length === 1);
  await talk.post(`/api/v1/sessions/${session}/handoff`);
  const sent = await send(session, 'A person here.', 'key-1');
  t.is(sent.status, 200, sent.text);
  const repeated = await send(session, 'A person here.', 'key-1');
  t.deepEqual(repeated.json, sent.json);
  await talk.post(`/api/v1/sessions/${session}/resume`);
  const afterResume = await send(session, 'A person here.', 'key-1');
  t.deepEqual([afterResume.status, afterResume.json], [200, sent.json], 'whoever leads the session by now');
  t.deepEqual(await codeOf(send(session, 'A person here.', 'key-9')), [409, 'INVALID_SESSION_STATE']);
  await talk.post(`/api/v1/sessions/${session}/handoff`);
  t.is(callback.bodies.length, 2);
  t.regex(callback.bodies[1] ?? '', /A person here\./);
  t.deepEqual(await codeOf(send(session, 'Something else.', 'key-1')), [409, 'conflict']);
  const said = await talk.get(`/api/v1/sessions/${session}/messages`);
  t.is(said.data.at(-1).content, 'A person here.');
  t.is(said.data.at(-1).id, sent.json.data.message_id);
  callback.status = 400;
  t.deepEqual(await codeOf(send(session, 'Not taken.', 'key-2')), [502, 'DELIVERY_FAILED']);
});
