import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { httpTool } from '../support/builders/published-agents.js';
import { registerAt } from '../support/builders/people.js';
import { eventually } from '../support/clocks/eventually.js';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { type Conversations, startConversations } from '../support/servers/conversations.js';
import { operatorToken, startTestNode, type TestNode } from '../support/servers/node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const undo: (() => Promise<void>)[] = [];
const atEnd = { teardown: (step: () => Promise<void>) => void undo.push(step) };
let node: TestNode;
let talk: Conversations;
/** Writes forty words, one in a hundred milliseconds. */
let slow: string;
/** Its turns go on when the test lets their tool answer, however slow the machine is. */
let waiting: string;
const heldTools = new Set<() => void>();

test.serial.before(async () => {
  node = await startTestNode(atEnd, { environment: { TROUPE_SIM: 'on' } });
  await node.client.call('PATCH', `/api/tenants/${node.bootstrap.tenant_id}/plan`, {
    token: operatorToken,
    body: { plan: 'enterprise' },
  });
  talk = await startConversations(node);
  slow = await talk.agent('sim.lorem-40-100');
  const tool = await startToolServer(atEnd, (_request, response) => {
    const answer = () => answerJson(response, { waited: true });
    heldTools.add(answer);
    // A cancelled turn breaks off.
    response.on('close', () => heldTools.delete(answer));
  });
  waiting = await talk.agent('sim.tools', {}, [httpTool('wait', tool.url)]);
});

test.serial.beforeEach(async () => {
  await eventually(() => heldTools.size === 0, { what: 'the tools of ended turns are gone' });
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

async function outcomeOf(executionId: string): Promise<string | null> {
  return (await talk.get(`/api/v1/executions/${executionId}`)).data?.outcome ?? null;
}

/** The newest execution of the waiting agent. */
async function newest(): Promise<string> {
  return (await talk.get(`/api/v1/executions?agent_id=${waiting}`)).data[0]?.id;
}

async function answerTools(): Promise<void> {
  await eventually(() => heldTools.size > 0, { what: 'the tool is called' });
  for (const answer of heldTools) answer();
}

async function begun(before: string | undefined): Promise<string> {
  return eventually(async () => {
    const id = await newest();
    return id !== undefined && id !== before ? id : undefined;
  });
}

test.serial('progress carries the growing text, and the answer carries the whole text', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const seen: string[] = [];
  const result = await client.callTool(
    { name: 'chat_with_agent', arguments: { agent_id: slow, message: 'write', surplus: 1 } },
    { onprogress: ({ message }) => void seen.push(message ?? ''), resetTimeoutOnProgress: true },
  );
  const answer = structured(result);
  t.is(answer['outcome'], 'COMPLETED');
  t.deepEqual(answer['ignored_fields'], [{ field: 'surplus', reason: 'unknown_field' }]);
  const text = String(answer['text']);
  t.true(seen.length > 3);
  t.true(seen.slice(1).every((message) => text.startsWith(message)));
  t.true((seen.at(-1) ?? '').length > (seen[1] ?? '').length);
});

test.serial('a client that closes its request cancels the turn', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const before = await newest();
  const leaving = new AbortController();
  const call = client.callTool(
    { name: 'chat_with_agent', arguments: { agent_id: waiting, message: 'please wait' } },
    { signal: leaving.signal },
  );
  const gone = t.throwsAsync(call);
  const execution = await begun(before);
  leaving.abort();
  await gone;
  await eventually(async () => (await outcomeOf(execution)) === 'CANCELLED');
  t.is(await outcomeOf(execution), 'CANCELLED');
});

test.serial('with an idempotency key the turn goes on, and a repeat joins it', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const before = await newest();
  const _meta = { idempotency_key: randomUUID() };
  const params = { name: 'chat_with_agent', arguments: { agent_id: waiting, message: 'please wait' }, _meta };
  const leaving = new AbortController();
  const gone = t.throwsAsync(client.callTool(params, { signal: leaving.signal }));
  const execution = await begun(before);
  leaving.abort();
  await gone;
  const joined = new Set<number>();
  const joining = [1, 2].map((number) =>
    client.callTool(params, { onprogress: () => void joined.add(number) }),
  );
  await eventually(() => joined.size === 2, { what: 'both repeats follow the turn' });
  await answerTools();
  const repeats = await Promise.all(joining);
  for (const repeat of repeats) {
    t.like(structured(repeat), { execution_id: execution, outcome: 'COMPLETED' });
  }
  const later = await client.callTool(params);
  t.like(structured(later), { execution_id: execution, outcome: 'COMPLETED' });
  t.deepEqual(
    repeats.map((repeat) => structured(repeat)['text']),
    Array(2).fill(structured(later)['text']),
  );
  const other = await client.callTool({
    ...params,
    arguments: { agent_id: waiting, message: 'wait for something else' },
  });
  t.true(other.isError);
  t.like(structured(other), { error: 'conflict' });
});

test.serial('a turn beyond its limit is an error with its ids', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const result = await client.callTool({
    name: 'chat_with_agent',
    arguments: { agent_id: slow, message: 'write', options: { timeout_ms: 1_000 } },
  });
  t.true(result.isError);
  const answer = structured(result);
  t.like(answer, { error: 'TURN_TIMEOUT', status: 'error', timed_out: true, timeout_clock: 'turn' });
  t.is(await outcomeOf(String(answer['execution_id'])), 'TIMEOUT');
  t.truthy(answer['session_id']);
});

test.serial('a notification of another request cancels a call', async (t) => {
  const before = await newest();
  const id = randomUUID();
  const running = post({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'chat_with_agent', arguments: { agent_id: waiting, message: 'please wait' } },
  });
  const execution = await begun(before);
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  await running;
  await eventually(async () => (await outcomeOf(execution)) === 'CANCELLED');
  t.is(await outcomeOf(execution), 'CANCELLED');
});

test.serial('a cancellation ends the call of its own client only', async (t) => {
  const opened = await fetch(`${node.node.baseUrl}/mcp`, {
    method: 'POST',
    headers: headersOf(),
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      },
    }),
  });
  await opened.text();
  const own = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  t.regex(own['mcp-session-id'], /^[0-9a-f-]{36}$/);
  const before = await newest();
  const running = post(
    {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'chat_with_agent', arguments: { agent_id: waiting, message: 'please wait' } },
    },
    own,
  );
  const execution = await begun(before);
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };
  await post(cancel, { 'mcp-session-id': randomUUID() });
  await post(cancel);
  t.is(await outcomeOf(execution), null);
  await post(cancel, own);
  await running;
  await eventually(async () => (await outcomeOf(execution)) === 'CANCELLED');
  t.is(await outcomeOf(execution), 'CANCELLED');
});

test.serial(
  'the end of a turn reaches the subscribers of its session and execution, and no other tenant',
  async (t) => {
    const { url, bootstrap } = { url: node.node.baseUrl, bootstrap: node.bootstrap };
    const client = await mcpClient(t, url, bootstrap.api_key);
    // The turn ends when all of them listen.
    const subscriber = await mcpClient(t, url, bootstrap.api_key);
    const ofMember = await mcpClient(t, url, await keyOf('member'));
    const ofStranger = await mcpClient(t, url, await keyOfAnotherTenant());
    const before = await newest();
    const turn = client.callTool({
      name: 'chat_with_agent',
      arguments: { agent_id: waiting, message: 'please wait' },
    });
    const execution = await begun(before);
    const { session_id: session } = (await talk.get(`/api/v1/executions/${execution}`)).data;
    const uris = [`platform://sessions/${session}`, `platform://executions/${execution}`];
    const heard = await updatesOf(subscriber, uris);
    const member = await updatesOf(ofMember, uris);
    const stranger = await updatesOf(ofStranger, uris);
    await answerTools();
    await turn;
    await eventually(() => uris.every((uri) => heard.includes(uri)), { what: 'both updates' });
    t.is(await outcomeOf(execution), 'COMPLETED');
    // The role of a member reads sessions, and no executions.
    await eventually(() => member.length > 0, { what: 'the update of the session' });
    t.deepEqual([...new Set(member)], [uris[0]]);
    t.deepEqual(stranger, []);
  },
);

test.serial('a stream of subscriptions names a bounded number of addresses', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const uris = Array.from({ length: 101 }, () => `platform://sessions/${randomUUID()}`);
  const refused = await t.throwsAsync(client.listen({ resourceSubscriptions: uris }));
  t.regex(refused?.message ?? '', /at most 100 addresses/);
});

test.serial(
  'a credential runs fifty tools at once, and the next is refused with a time to wait',
  async (t) => {
    const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
    const chat = (): Promise<CallToolResult> =>
      client.callTool({ name: 'chat_with_agent', arguments: { agent_id: slow, message: 'write' } });
    const results = await Promise.all(Array.from({ length: 55 }, chat));
    const refused = results.filter(({ isError }) => isError === true).map(structured);
    t.is(refused.length, 5);
    t.true(refused.every(({ error }) => error === 'rate_limit_exceeded'));
  },
);

async function updatesOf(client: Client, uris: readonly string[]): Promise<readonly string[]> {
  const updates: string[] = [];
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void updates.push(params.uri),
  );
  await client.listen({ resourceSubscriptions: [...uris] });
  return updates;
}

async function keyOf(role: string, { token, tenant }: Credentials = ownCredentials()): Promise<string> {
  const body = { name: `key of a ${role}`, role };
  return (await node.client.call('POST', '/api/keys', { token, tenant, body })).json.data.api_key;
}

interface Credentials {
  readonly token: string;
  readonly tenant: string;
}

function ownCredentials(): Credentials {
  return { token: node.bootstrap.access_token, tenant: node.bootstrap.tenant_id };
}

async function keyOfAnotherTenant(): Promise<string> {
  const { token } = await registerAt(node.client);
  const { json } = await node.client.call('GET', '/api/tenants', { token });
  return keyOf('admin', { token, tenant: json.data[0].id });
}

function headersOf(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    'x-api-key': node.bootstrap.api_key,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  };
}

async function post(message: object, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await fetch(`${node.node.baseUrl}/mcp`, {
    method: 'POST',
    headers: headersOf({ 'mcp-protocol-version': '2025-11-25', ...more }),
    body: JSON.stringify(message),
  });
  return response.text();
}
