import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { derivedSessionId } from '../../src/conversations/invocation/index.js';
import { eventually } from '../support/clocks/eventually.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { makeTenant, type TestTenant } from '../support/builders/tenants.js';

const shared = sharedNode(test);

interface House {
  readonly node: TenantNode;
  readonly own: TestTenant;
  readonly agentId: string;
}

async function newHouse(t: ExecutionContext): Promise<House> {
  const node = await shared.tenant(t);
  const own = await makeTenant(node);
  const owner = { token: own.users.owner.token, tenant: own.tenantId };
  const body = { name: 'echo', llm_config: { model: 'sim.echo' } };
  const made = await node.client.call('POST', '/api/agents', { ...owner, body });
  const agentId = String(made.json.data.id);
  await node.client.call('POST', `/api/agents/${agentId}/publish`, { ...owner, body: {} });
  return { node, own, agentId };
}

interface Seen {
  readonly status: number;
  readonly text: string;
  /** The data of the first event of a type. */
  event(type: string): Record<string, unknown>;
}

/** A turn from its beginning to its end. The body may be JSON text, for names that objects cannot carry. */
async function turn(
  { node, own, agentId }: House,
  body: object | string,
  headers: Record<string, string> = { 'x-api-key': own.keys.admin },
): Promise<Seen> {
  const response = await fetch(`${node.client.baseUrl}/api/v2/agents/${agentId}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify({ message: 'hello', ...body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    event(type) {
      const line = new RegExp(`^event: ${type}\ndata: (.*)$`, 'm').exec(text)?.[1];
      if (line === undefined) throw new Error(`no event ${type} in ${text}`);
      return JSON.parse(line) as Record<string, unknown>;
    },
  };
}

const integrationFields = {
  context: { city: 'Lima', api_key: 'sk-planted-value-1', _case: 7 },
  bindings: { account: 'planted-binding' },
  consumer_key: 'c-1',
  consumer_display_name: 'Ada',
  metadata: { trace_id: 'tr-1', token: 'planted-token' },
};

test("an integration's declarations take effect, are stored without secrets, and are shown again", async (t) => {
  const house = await newHouse(t);
  const { client } = house.node;
  const key = house.own.keys.admin;
  const seen = await turn(house, integrationFields);
  t.is(seen.status, 200);
  t.deepEqual(seen.event('metadata')['accepted_fields'], [
    'message',
    'consumer_key',
    'context',
    'bindings',
    'metadata',
    'consumer_display_name',
  ]);
  t.deepEqual(seen.event('metadata')['ignored_fields'], []);
  t.is(seen.event('response')['content'], 'echo: hello');
  t.is(seen.event('done')['outcome'], 'COMPLETED');
  const session = String(seen.event('metadata')['session_id']);

  const { json: history } = await client.call('GET', `/api/v1/sessions/${session}/messages`, { key });
  t.deepEqual(Object.keys(history.data[0]).toSorted(), [
    'attachments',
    'author',
    'content',
    'created_at',
    'declared_context',
    'execution_id',
    'id',
    'metadata',
    'role',
  ]);
  t.deepEqual(history.data[0].declared_context, { city: 'Lima', api_key: '[REDACTED]', _case: 7 });
  const found = await client.call('GET', '/api/v1/executions?trace_id=tr-1', { key });
  t.is(found.json.count, 1);
  t.deepEqual(found.json.data[0].metadata, { trace_id: 'tr-1', token: '[REDACTED]' });
  const detail = await client.call('GET', `/api/v1/executions/${found.json.data[0].id}`, { key });
  for (const planted of ['planted-value', 'planted-binding', 'planted-token'])
    t.false([seen.text, JSON.stringify(history), found.text, detail.text].join().includes(planted), planted);

  const consumer = await client.call('GET', '/api/v1/consumers/c-1', { key });
  t.like(consumer.json.data, {
    display_name: 'Ada',
    channels: ['chat'],
    total_sessions: 1,
    total_turns: 1,
    blocked: false,
  });
  const sessions = await client.call('GET', '/api/v1/consumers/c-1/sessions', { key });
  t.is(sessions.json.data[0].session_id, session);
  const listed = await client.call('GET', '/api/v1/sessions?consumer_key=c-1', { key });
  t.deepEqual(sessions.json.data, listed.json.data, 'a session looks alike wherever it is listed');
});

test('users and keys below admin cannot declare integration fields, and the answer lists them', async (t) => {
  const house = await newHouse(t);
  const { own } = house;
  const person = { authorization: `Bearer ${own.users.owner.token}`, 'x-tenant-id': own.tenantId };
  for (const headers of [person, { 'x-api-key': own.keys.editor }, { 'x-api-key': own.keys.member }]) {
    const seen = await turn(house, { ...integrationFields, context: [], session_from: 'x' }, headers);
    t.deepEqual(seen.event('metadata')['accepted_fields'], ['message', 'metadata']);
    const ignored = seen.event('metadata')['ignored_fields'] as { field: string; reason: string }[];
    t.deepEqual(
      ignored.map(({ field, reason }) => `${field} ${reason}`).toSorted(),
      ['bindings', 'consumer_key', 'context', 'session_from'].map(
        (field) => `${field} requires_admin_api_key`,
      ),
    );
    t.is(seen.event('done')['outcome'], 'COMPLETED');
  }
});

test('a session belongs to the first declared identity and to no other', async (t) => {
  const house = await newHouse(t);
  const first = await turn(house, {});
  const session_id = String(first.event('metadata')['session_id']);
  t.is((await turn(house, { session_id, consumer_key: 'c-1' })).event('done')['outcome'], 'COMPLETED');
  const refused = await turn(house, { session_id, consumer_key: 'c-2' });
  t.is(refused.status, 409);
  t.like(JSON.parse(refused.text), { error: 'CONFLICT', status: 'error' });
  t.is((await turn(house, { session_id })).event('done')['outcome'], 'COMPLETED');
  const unknown = await turn(house, { session_id: randomUUID() });
  t.is(unknown.status, 404);
  t.like(JSON.parse(unknown.text), { error: 'not_found' });
});

test('a declared name applies to sessions that the person starts later', async (t) => {
  const house = await newHouse(t);
  const nameIn = async (body: object): Promise<unknown> => {
    const id = String((await turn(house, body)).event('metadata')['session_id']);
    const { json } = await house.node.client.call('GET', `/api/v1/sessions/${id}`, {
      key: house.own.keys.admin,
    });
    return json.data.consumer_display_name;
  };
  t.is(await nameIn({ consumer_key: 'c-1' }), null);
  t.is(await nameIn({ consumer_key: 'c-1', consumer_display_name: 'Ada' }), 'Ada');
  t.is(await nameIn({ consumer_key: 'c-1' }), 'Ada');
  t.is(await nameIn({ consumer_key: 'c-2' }), null, 'somebody else');
});

test('a session is derived from declared fields, and naming one in two ways is refused', async (t) => {
  const house = await newHouse(t);
  const body = {
    context: { From: 'whatsapp:+49 171 555' },
    bindings: { order: 7 },
    session_from: ['From', 'order'],
  };
  const seen = await turn(house, body);
  const session_id = derivedSessionId(house.agentId, [
    { name: 'From', value: '+49171555' },
    { name: 'order', value: 7 },
  ]);
  t.is(seen.event('metadata')['session_id'], session_id);
  t.is((await turn(house, body)).event('metadata')['session_id'], session_id);
  const refused = await turn(house, { ...body, session_id });
  t.is(refused.status, 400);
  t.like(JSON.parse(refused.text), { error: 'VALIDATION_ERROR', details: { field: 'session_from' } });
});

test('field names that reach a prototype are dropped and reported, and the turn runs', async (t) => {
  const house = await newHouse(t);
  const seen = await turn(
    house,
    '{"message":"hi","context":{"__proto__":{"a":1},"constructor":1,"city":"Lima"},"bindings":{"prototype":1},' +
      '"__proto__":{"message":"x"},"surprise":1}',
  );
  t.deepEqual(seen.event('metadata')['ignored_fields'], [
    { field: '__proto__', reason: 'unknown_field' },
    { field: 'surprise', reason: 'unknown_field' },
    { field: 'context.__proto__', reason: 'reserved_key' },
    { field: 'context.constructor', reason: 'reserved_key' },
    { field: 'bindings.prototype', reason: 'reserved_key' },
  ]);
  t.is(seen.event('response')['content'], 'echo: hi');
});

test('a denied person is answered without a model, and served again when allowed', async (t) => {
  const house = await newHouse(t);
  const { client } = house.node;
  const key = house.own.keys.admin;
  const deny = '/api/v1/consumers/c-1/deny';
  t.is((await client.call('POST', deny, { key, body: {} })).status, 200);
  const blocked = await turn(house, { consumer_key: 'c-1' });
  t.is(blocked.event('done')['outcome'], 'BLOCKED');
  t.false(blocked.text.includes('echo:'));
  await client.call('DELETE', deny, { key });
  t.is((await turn(house, { consumer_key: 'c-1' })).event('done')['outcome'], 'COMPLETED');
  const { json } = await client.call('GET', '/api/v1/executions', { key });
  t.deepEqual(
    json.data.map(({ status }: { status: string }) => status),
    ['completed', 'blocked'],
  );
  const rows = async () => {
    const answer = await client.call('GET', '/api/v1/executions?status=blocked', { key });
    return answer.json.data[0]?.usage;
  };
  await eventually(async () => (await rows()) !== undefined);
  t.is((await rows())?.total_tokens ?? 0, 0);
});
