import { randomUUID } from 'node:crypto';
import test from 'ava';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { eventually } from '../support/clocks/eventually.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import {
  asOwner,
  createTrigger,
  executionOf,
  executionsOf,
  sendSigned,
} from '../support/builders/triggers.js';

const shared = sharedNode(test);

/** Answers one message a minute; the next ones wait. */
async function slowAgent(node: TenantNode): Promise<string> {
  const { json } = await asOwner(node, 'POST', '/api/agents', {
    name: `patient-${randomUUID()}`,
    commercial_name: 'Patient',
    bio: 'Takes its time.',
    type: 'assistant',
    llm_config: { model: 'sim.echo' },
  });
  await asOwner(node, 'POST', `/api/agents/${json.data.id}/publish`, { config: { rate_limit: 1 } });
  return json.data.id;
}

test('an accepted message is found by its id at once, queued, before a session takes it', async (t) => {
  const node = await shared.tenant(t);
  const agent_id = await slowAgent(node);
  const trigger = await createTrigger(node, {
    context_mapping: { order: '$.order' },
    execution: { mode: 'async' },
  });
  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { agent_id });
  await sendSigned(node, trigger, { message: 'first' });
  // Of two requests for one place either may get it, so the first gets it before the second arrives.
  await eventually(async () => (await executionsOf(node, trigger))[0]?.status === 'completed');
  const { json } = await sendSigned(node, trigger, { message: 'second', order: 7 });
  const waiting = await executionOf(node, trigger, json.execution_id);
  t.like(waiting, {
    id: json.execution_id,
    agent_id,
    status: 'queued',
    outcome: null,
    input_preview: 'second',
    delivery_status: 'none',
    started_at: null,
    context: { order: 7 },
    deliveries: [],
  });
  const [newest, before, ...others] = await executionsOf(node, trigger);
  t.like(newest, { id: json.execution_id, status: 'queued' });
  t.is(before?.input_preview, 'first');
  t.is(others.length, 0);
  const queued = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/executions?status=queued`);
  t.true(queued.json.data.some(({ id }: { id: string }) => id === json.execution_id));
  const completed = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/executions?status=failed`);
  t.deepEqual(completed.json.data, []);
  const whole = await asOwner(node, 'GET', `/api/v1/executions/${json.execution_id}`);
  t.like(whole.json.data, { status: 'queued', trigger_id: trigger.id, delivery_status: 'none', steps: [] });
});

test('an execution shows its whole message, without credentials, over REST and MCP', async (t) => {
  const node = await shared.tenant(t);
  const agent_id = await slowAgent(node);
  const trigger = await createTrigger(node, { execution: { mode: 'async' } });
  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { agent_id });
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const shown = async (message: string): Promise<string> => {
    const { json } = await sendSigned(node, trigger, { message });
    const whole = await executionOf(node, trigger, json.execution_id);
    const answer = await client.callTool({
      name: 'get_trigger_execution',
      arguments: { trigger_id: trigger.id, execution_id: json.execution_id },
    });
    t.like(structured(answer), { data: { id: json.execution_id, payload: whole.payload } });
    return whole.payload.message;
  };
  const words = 'a word and '.repeat(40);
  t.is(await shown(`${words}Bearer abcdefghijklmnop1234567890`), `${words}[REDACTED]`);
  await eventually(async () => (await executionsOf(node, trigger))[0]?.status === 'completed');
  // It waits, so that no model reads it. The answer of a tool has at most 1 MB.
  t.is(await shown('\u20ac'.repeat(150_000)), '\u20ac'.repeat(100_000));
});

test("a webhook shows its tenant's window, and one authenticated by a key shows the key's", async (t) => {
  const node = await shared.tenant(t);
  const { bootstrap, client } = node;
  const signed = await createTrigger(node, {});
  const answers = [];
  for (const message of ['one', 'two']) answers.push(await sendSigned(node, signed, { message }));
  t.deepEqual(
    answers.map(({ headers }) => headers.get('x-ratelimit-limit')),
    ['10000', '10000'],
  );
  const [first = 0, second = 0] = answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
  t.is(second, first - 1);
  const accepted = await createTrigger(node, { execution: { mode: 'async' } });
  const { headers } = await sendSigned(node, accepted, { message: 'three' });
  t.is(headers.get('x-ratelimit-limit'), '10000');
  const listed = await createTrigger(node, {
    sender_access: { mode: 'whitelist', identity_field: 'from', identifiers: ['ada@example.com'] },
  });
  const stopped = await sendSigned(node, listed, { message: 'x', from: 'bob@example.com' });
  t.is(stopped.text, '<Response></Response>');
  t.is(stopped.headers.get('x-ratelimit-limit'), '10000', 'a gate counts too');
  const opened = await createTrigger(node, { auth: { type: 'api_key' } });
  const byKey = await client.call('POST', opened.path, { key: bootstrap.api_key, body: { message: 'four' } });
  t.is(byKey.status, 200);
  t.is(byKey.headers.get('x-ratelimit-limit'), '1000');
  const unsigned = await client.call('POST', signed.path, { body: { message: 'five' } });
  t.is(unsigned.status, 401);
  t.is(unsigned.headers.get('x-ratelimit-limit'), '120', 'who is not known has the window of the address');
});
