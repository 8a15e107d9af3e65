// An answer that is kept for repeats is forgotten with the session or the turn that it tells of.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { asOwner, createTrigger, sendSigned, type TestTrigger } from '../support/builders/triggers.js';
import type { CallResult } from '../support/clients/client.js';
import { eventually } from '../support/clocks/eventually.js';
import { tenantView } from '../support/database/owner-view.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

const marker = (): string => `planted${randomBytes(10).toString('hex')}`;

/** Of a conversation for each sender. */
function triggerOf(node: TenantNode): Promise<TestTrigger> {
  return createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    sender_access: { identity_field: 'from' },
  });
}

function post(node: TenantNode, path: string, body: object, key: string): Promise<CallResult> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  return node.client.call('POST', path, { token, tenant, body, headers: { 'idempotency-key': key } });
}

function invoke(node: TenantNode, { id }: TestTrigger, from: string): Promise<CallResult> {
  return post(node, `/api/triggers/${id}/invoke`, { message: `secret ${from}`, from }, from);
}

async function keptOf(node: TenantNode, id: string): Promise<readonly (boolean | null)[]> {
  const rows = await tenantView(node);
  const found = await rows.query<{ kept: boolean }>(
    'select sealed_answer is not null as kept from idempotent_requests where seed = $1',
    [id],
  );
  await rows.end();
  return found.rows.map(({ kept }) => kept);
}

async function sessionOf(node: TenantNode, execution: string): Promise<string> {
  const { json } = await asOwner(node, 'GET', `/api/v1/executions/${execution}`);
  return String(json.data.session_id);
}

const deletedAnswer = { status: 404, json: { error: 'not_found' } };

for (const erased of ['consumer', 'session'] as const) {
  test(`a repeat of a trigger's run gives no word of an erased ${erased}`, async (t) => {
    const node = await shared.tenant(t);
    const [word, other] = [marker(), marker()];
    const trigger = await triggerOf(node);
    for (const from of [word, other]) {
      const { status, text } = await sendSigned(node, trigger, { message: 'hello', from });
      t.is(status, 200, text);
    }
    const first = await invoke(node, trigger, word);
    t.is(first.status, 200, first.text);
    t.regex(first.text, new RegExp(word));
    const ofOther = await invoke(node, trigger, other);
    t.is((await invoke(node, trigger, word)).text, first.text, 'before the erasure');
    const id = String(first.json.execution_id);
    t.deepEqual(await keptOf(node, id), [true]);

    const path = erased === 'consumer' ? `consumers/${word}` : `sessions/${await sessionOf(node, id)}`;
    const { status, text } = await asOwner(node, 'DELETE', `/api/v1/${path}`);
    t.is(status, 200, text);
    t.deepEqual(await keptOf(node, id), [false]);
    for (const _again of [1, 2]) {
      const repeat = await invoke(node, trigger, word);
      t.like(repeat, deletedAnswer);
      t.false(repeat.text.includes(word));
    }
    const { json } = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/executions`);
    t.is(json.count, 2, 'nothing ran again');
    t.is((await invoke(node, trigger, other)).text, ofOther.text, 'another person keeps the answer');
  });
}

test('a repeat after the deletion of the trigger gives the first answer, until its session is erased', async (t) => {
  const node = await shared.tenant(t);
  const word = marker();
  const trigger = await triggerOf(node);
  const first = await invoke(node, trigger, word);
  t.is(first.status, 200, first.text);
  const session = await sessionOf(node, String(first.json.execution_id));
  t.is((await asOwner(node, 'DELETE', `/api/triggers/${trigger.id}`)).status, 200);
  t.is((await invoke(node, trigger, word)).text, first.text);
  t.is((await asOwner(node, 'DELETE', `/api/v1/sessions/${session}`)).status, 200);
  t.like(await invoke(node, trigger, word), deletedAnswer);
});

test('a repeat of a new session names no session that was erased, and makes none', async (t) => {
  const node = await shared.tenant(t);
  const open = (): Promise<CallResult> =>
    post(node, '/api/sessions', { agent_id: node.bootstrap.agent_id }, 'k');
  const first = await open();
  t.is(first.status, 201, first.text);
  t.deepEqual((await open()).json, first.json);
  const id = String(first.json.data.session_id);
  t.is((await asOwner(node, 'DELETE', `/api/v1/sessions/${id}`)).status, 200);
  const repeat = await open();
  t.like(repeat, deletedAnswer);
  t.false(repeat.text.includes(id));
  t.is((await asOwner(node, 'GET', `/api/v1/sessions/${id}`)).status, 404);
});

test('an erasure while the request runs leaves no answer for its repeats', async (t) => {
  const node = await shared.tenant(t);
  const agent = await asOwner(node, 'POST', '/api/agents', {
    name: 'slow',
    llm_config: { model: 'sim.lorem-200-50' },
  });
  t.is(agent.status, 201, agent.text);
  t.is((await asOwner(node, 'POST', `/api/agents/${agent.json.data.id}/publish`, {})).status, 200);
  const made = await asOwner(node, 'POST', '/api/triggers', {
    agent_id: agent.json.data.id,
    name: 'slow',
    trigger_type: 'webhook',
    trigger_config: {},
  });
  t.is(made.status, 201, made.text);
  const trigger: TestTrigger = { id: made.json.data.id, secret: '', path: '' };
  const word = marker();
  const running = invoke(node, trigger, word);
  const execution = await eventually(async () => {
    const { json } = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/executions`);
    return json.data.find(({ status }: { status: string }) => status === 'running');
  });
  const erased = await asOwner(node, 'DELETE', `/api/v1/sessions/${execution.session_id}`);
  t.is(erased.status, 200, erased.text);
  await running;
  t.deepEqual(await keptOf(node, execution.id), [false]);
  t.like(await invoke(node, trigger, word), deletedAnswer);
});
