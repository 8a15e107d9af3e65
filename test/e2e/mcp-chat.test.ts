import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { eventually } from '../support/clocks/eventually.js';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { type Conversations, startConversations } from '../support/servers/conversations.js';
import { operatorToken, startTestNode, type TestNode } from '../support/servers/node.js';

const undo: (() => Promise<void>)[] = [];
const atEnd = { teardown: (step: () => Promise<void>) => void undo.push(step) };
let node: TestNode;
let talk: Conversations;
/** Writes forty words, one in a hundred milliseconds. */
let slow: string;

test.serial.before(async () => {
  node = await startTestNode(atEnd, { environment: { TROUPE_SIM: 'on' } });
  await node.client.call('PATCH', `/api/tenants/${node.bootstrap.tenant_id}/plan`, {
    token: operatorToken,
    body: { plan: 'enterprise' },
  });
  talk = await startConversations(node);
  slow = await talk.agent('sim.lorem-40-100');
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

async function outcomeOf(executionId: string): Promise<string | null> {
  return (await talk.get(`/api/v1/executions/${executionId}`)).data?.outcome ?? null;
}

/** The newest execution of the slow agent. */
async function newest(): Promise<string> {
  return (await talk.get(`/api/v1/executions?agent_id=${slow}`)).data[0]?.id;
}

async function begun(before: string | undefined): Promise<string> {
  return eventually(async () => {
    const id = await newest();
    return id !== undefined && id !== before ? id : undefined;
  });
}

test.serial('progress carries the growing text, and the answer the whole', async (t) => {
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
    { name: 'chat_with_agent', arguments: { agent_id: slow, message: 'write' } },
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
  const params = { name: 'chat_with_agent', arguments: { agent_id: slow, message: 'write' }, _meta };
  const leaving = new AbortController();
  const gone = t.throwsAsync(client.callTool(params, { signal: leaving.signal }));
  const execution = await begun(before);
  leaving.abort();
  await gone;
  const repeats = await Promise.all([client.callTool(params), client.callTool(params)]);
  for (const repeat of repeats) {
    t.like(structured(repeat), { execution_id: execution, outcome: 'COMPLETED' });
  }
  const later = await client.callTool(params);
  t.like(structured(later), { execution_id: execution, outcome: 'COMPLETED' });
  t.is(structured(later)['text'], structured(repeats[0])['text']);
  const other = await client.callTool({
    ...params,
    arguments: { agent_id: slow, message: 'something else' },
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
    params: { name: 'chat_with_agent', arguments: { agent_id: slow, message: 'write' } },
  });
  const execution = await begun(before);
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  await running;
  await eventually(async () => (await outcomeOf(execution)) === 'CANCELLED');
  t.is(await outcomeOf(execution), 'CANCELLED');
});

test.serial('a credential runs fifty tools at once, and the next is told to wait', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const chat = (): Promise<CallToolResult> =>
    client.callTool({ name: 'chat_with_agent', arguments: { agent_id: slow, message: 'write' } });
  const results = await Promise.all(Array.from({ length: 55 }, chat));
  const refused = results.filter(({ isError }) => isError === true).map(structured);
  t.is(refused.length, 5);
  t.true(refused.every(({ error }) => error === 'rate_limit_exceeded'));
});

async function post(message: object): Promise<string> {
  const response = await fetch(`${node.node.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      'x-api-key': node.bootstrap.api_key,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify(message),
  });
  return response.text();
}
