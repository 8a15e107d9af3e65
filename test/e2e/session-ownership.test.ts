// Permission to continue a conversation, and the authors of its messages.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { CallResult, Json } from '../support/clients/client.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { makeTenant, type TestTenant } from '../support/builders/tenants.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger, executionOf, sendSigned } from '../support/builders/triggers.js';

const undo: (() => Promise<void>)[] = [];
let node: TestNode;
let tenant: TestTenant;
let agentId: string;

/** A caller with a key or an access token. */
interface Who {
  readonly key?: string;
  readonly token?: string;
  readonly tenant?: string;
}

// One tenant for all tests: they read, and each has sessions of its own.
test.before(async () => {
  node = await startTestNode({ teardown: (fn) => void undo.push(fn) });
  tenant = await makeTenant(node);
  agentId = await echoingAgent();
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

function echoingAgent(): Promise<string> {
  const owner = { tenant_id: tenant.tenantId, access_token: tenant.users.owner.token };
  return publishAgent(node.client, { ...node.bootstrap, ...owner }, { model: 'sim.echo' });
}

const byKey = (role: keyof TestTenant['keys']): Who => ({ key: tenant.keys[role] });
const byToken = (role: keyof TestTenant['users']): Who => ({
  token: tenant.users[role].token,
  tenant: tenant.tenantId,
});

/** A turn to its end, from the answer's text: which session it was in, or how it was refused. */
async function say(
  who: Who,
  body: object,
  agent = agentId,
): Promise<{ status: number; error: string; session: string }> {
  const response = await fetch(`${node.client.baseUrl}/api/v2/agents/${agent}/stream`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(who.key !== undefined && { 'x-api-key': who.key }),
      ...(who.token !== undefined && {
        authorization: `Bearer ${who.token}`,
        'x-tenant-id': tenant.tenantId,
      }),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const session = /"session_id":"([0-9a-f-]+)"/.exec(text)?.[1] ?? '';
  const error = response.status === 200 ? '' : (JSON.parse(text) as { error: string }).error;
  return { status: response.status, error, session };
}

const call = (who: Who, method: string, path: string, body?: object): Promise<CallResult> =>
  node.client.call(method, path, { ...who, ...(body !== undefined && { body }) });

async function messagesOf(session: string, who: Who = byToken('owner')): Promise<Json[]> {
  return (await call(who, 'GET', `/api/v1/sessions/${session}/messages?limit=100`)).json.data;
}

const authorsOf = async (session: string): Promise<unknown[]> =>
  (await messagesOf(session)).map(({ author }) => author);

async function keyIdOf(name: string): Promise<string> {
  const { json } = await call(byToken('owner'), 'GET', '/api/keys');
  return json.data.find((key: { name: string }) => key.name === name).id;
}

test("editors and members get the same answer for a customer's session as for an unknown one", async (t) => {
  const { session } = await say(byKey('admin'), { message: 'I lost my card', consumer_key: 'customer-1' });
  const lowly = [byKey('editor'), byKey('member'), byToken('editor'), byToken('member')];
  const other = await echoingAgent();
  for (const who of lowly) {
    const unknown = await say(who, { message: 'send it to me', session_id: randomUUID() });
    t.is(unknown.status, 404);
    t.deepEqual(await say(who, { message: 'send it to me', session_id: session }), unknown);
    t.deepEqual(await say(who, { message: 'send it to me', session_id: session }, other), unknown);
    t.is((await messagesOf(session, who)).length, 2, 'reading stays as it was');
  }
  for (const who of [byKey('owner'), byKey('admin'), byToken('owner'), byToken('admin')]) {
    t.is((await say(who, { message: 'I am from support', session_id: session })).status, 200);
  }
  t.is((await messagesOf(session)).length, 10);
});

test('editors and members continue their own sessions, by the same key or as the same user', async (t) => {
  const lowly = [byKey('editor'), byKey('member'), byToken('editor'), byToken('member')];
  for (const who of lowly) {
    const { session } = await say(who, { message: 'first' });
    t.is((await say(who, { message: 'second', session_id: session })).status, 200);
    const made = await call(who, 'POST', '/api/sessions', { agent_id: agentId });
    t.is(made.status, 201);
    const opened: string = made.json.data.session_id;
    t.is((await say(who, { message: 'first', session_id: opened })).status, 200);
    for (const other of lowly.filter((one) => one !== who)) {
      for (const id of [session, opened]) {
        t.is((await say(other, { message: 'mine?', session_id: id })).status, 404);
      }
    }
    t.is((await say(byToken('admin'), { message: 'may I help?', session_id: session })).status, 200);
    t.is((await say(who, { message: 'yes', session_id: session })).status, 200, 'help takes nothing away');
  }
});

test("a session that an owner started for a customer is not an editor's", async (t) => {
  const body = { agent_id: agentId, consumer_key: 'customer-2' };
  const made = await call(byKey('admin'), 'POST', '/api/sessions', body);
  const session: string = made.json.data.session_id;
  t.is((await say(byKey('member'), { message: 'hello', session_id: session })).error, 'not_found');
  const begun = await say(byKey('member'), { message: 'a question of my own' });
  const adopted = { message: 'hello', session_id: begun.session, consumer_key: 'customer-3' };
  t.is((await say(byKey('admin'), adopted)).status, 200);
  const after = await say(byKey('member'), { message: 'now as the customer', session_id: begun.session });
  t.is(after.error, 'not_found', 'what a customer was brought into is the customer’s');
});

test("an editor who runs a trigger by hand can enter no customer's session, now or later", async (t) => {
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    context_mapping: { from: '$.from' },
    sender_access: { mode: 'any', identity_field: 'from' },
  });
  const { json: made } = await asOwner(node, 'POST', '/api/keys', { name: 'an editor', role: 'editor' });
  const editor: Who = { key: made.data.api_key };
  const owner: Who = { token: node.bootstrap.access_token, tenant: node.bootstrap.tenant_id };
  const invoke = (who: Who, message: string, from: string): Promise<CallResult> =>
    call(who, 'POST', `/api/triggers/${trigger.id}/invoke`, { message, from });
  const sessionOf = async (from: string): Promise<string> => {
    const { json } = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/test`, {
      payload: { message: 'x', from },
    });
    return json.data.session_id;
  };

  t.is((await sendSigned(node, trigger, { message: 'hi', from: 'ada' })).status, 200);
  const foreign = await invoke(editor, 'I am Ada', 'ada');
  t.is(foreign.status, 404);
  t.is(foreign.json.error, 'not_found');
  t.is((await invoke(owner, 'a look', 'ada')).status, 200);

  // An editor may use a session without a customer until its customer writes.
  t.is((await invoke(editor, 'a trial', 'bob')).status, 200);
  t.is((await invoke(editor, 'another', 'bob')).status, 200);
  t.is((await sendSigned(node, trigger, { message: 'hello', from: 'bob' })).status, 200);
  t.is((await invoke(editor, 'I am Bob', 'bob')).status, 404);
  const session = await sessionOf('bob');
  const agent = node.bootstrap.agent_id;
  t.is((await say(editor, { message: 'I am Bob', session_id: session }, agent)).status, 404);

  const authors = (await messagesOf(session, owner)).map(({ author }) => author);
  const byEditor = { kind: 'key', id: made.data.id };
  const byAgent = { kind: 'agent', id: agent };
  const byBob = { kind: 'consumer', id: 'bob' };
  t.deepEqual(authors, [byEditor, byAgent, byEditor, byAgent, byBob, byAgent]);
});

test('messages name their author', async (t) => {
  const byAgent = { kind: 'agent', id: agentId };
  const [admin, member] = [await keyIdOf('admin key'), await keyIdOf('member key')];
  const { session } = await say(byKey('admin'), { message: 'hello', consumer_key: 'customer-4' });
  await say(byKey('admin'), { message: 'a note', session_id: session });
  await say(byToken('owner'), { message: 'a question', session_id: session });
  t.deepEqual(await authorsOf(session), [
    { kind: 'consumer', id: 'customer-4' },
    byAgent,
    { kind: 'key', id: admin },
    byAgent,
    { kind: 'user', id: tenant.users.owner.userId },
    byAgent,
  ]);
  const own = await say(byKey('member'), { message: 'hello', consumer_key: 'customer-4' });
  t.deepEqual(await authorsOf(own.session), [{ kind: 'key', id: member }, byAgent]);
});

test('a manual message has its user as author, and one of a trigger without a sender the trigger', async (t) => {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['order'] },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  const { json } = await sendSigned(node, trigger, { message: 'order 7 is late', order: 7 });
  const owner: Who = { token: node.bootstrap.access_token, tenant: node.bootstrap.tenant_id };
  const session = await eventually(async () => {
    const found = await executionOf(node, trigger, json.execution_id);
    return found.delivery_status === 'delivered' ? String(found.session_id) : undefined;
  });
  await call(owner, 'POST', `/api/v1/sessions/${session}/handoff`);
  const sent = await call(owner, 'POST', `/api/v1/sessions/${session}/manual-message`, {
    message: 'I will look',
  });
  t.is(sent.status, 200, sent.text);
  const me = await call(owner, 'GET', '/api/auth/me');
  t.deepEqual(
    (await messagesOf(session, owner)).map(({ author }) => author),
    [
      { kind: 'trigger', id: trigger.id },
      { kind: 'agent', id: node.bootstrap.agent_id },
      { kind: 'user', id: me.json.data.user.id },
    ],
  );
});
