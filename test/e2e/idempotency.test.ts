import { randomUUID } from 'node:crypto';
import test from 'ava';
import { asOwner, createTrigger } from '../support/builders/triggers.js';
import { eventually } from '../support/clocks/eventually.js';
import { ask, booksOf } from '../support/clients/direct-calls.js';
import type { CallResult } from '../support/clients/client.js';
import { startConversations } from '../support/servers/conversations.js';
import { tenantView } from '../support/database/owner-view.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

function create(node: TenantNode, path: string, body: object, key: string): Promise<CallResult> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const headers = { 'idempotency-key': key };
  return node.client.call('POST', path, { token, tenant, body, headers });
}

/** The state after the process of the request was killed before it answered; nobody holds the request any more. */
async function loseAnswer(node: TenantNode, change = ''): Promise<void> {
  const rows = await tenantView(node);
  await rows.query(
    `update idempotent_requests set answered = false, sealed_answer = null, holder = gen_random_uuid(),
       held_until = now() - interval '1 second' ${change}`,
  );
  await rows.end();
}

test('a repeat of a creation gives the first answer, and makes and records nothing more', async (t) => {
  const node = await shared.tenant(t);
  const agents = async (): Promise<number> =>
    (await asOwner(node, 'GET', '/api/agents')).json.data.filter((one: { name: string }) =>
      one.name.startsWith('once'),
    ).length;
  const body = { name: 'once', bio: 'first', tags: ['a'] };
  const first = await create(node, '/api/agents', body, 'k 1');
  t.is(first.status, 201, first.text);
  t.is(first.headers.get('idempotent-replayed'), null);
  // The order of the fields is no difference.
  const again = await create(node, '/api/agents', { tags: ['a'], bio: 'first', name: 'once' }, 'k 1');
  t.is(again.status, 201, again.text);
  t.deepEqual(again.json, first.json);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  const other = await create(node, '/api/agents', { ...body, bio: 'second' }, 'k 1');
  t.is(other.status, 409);
  t.is(other.json.error, 'conflict');
  t.is(await agents(), 1);
  t.is((await create(node, '/api/agents', { ...body, name: 'once-more' }, 'k 2')).status, 201);
  t.is(await agents(), 2);
  const entries = await asOwner(
    node,
    'GET',
    `/api/v1/audit?action=agents.create&target=${first.json.data.id}`,
  );
  t.is(entries.json.count, 1);
});

test('concurrent repeats make one thing and get one answer', async (t) => {
  const node = await shared.tenant(t);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => create(node, '/api/keys', { name: 'Key', role: 'member' }, 'k')),
  );
  t.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 201),
  );
  t.is(new Set(answers.map(({ json }) => json.data.api_key)).size, 1);
  const keys = await asOwner(node, 'GET', '/api/keys');
  t.is(keys.json.data.filter(({ name }: { name: string }) => name === 'Key').length, 1);
});

test('keys are those of a caller and an operation', async (t) => {
  const node = await shared.tenant(t);
  const session = (key: string): Promise<CallResult> =>
    node.client.call('POST', '/api/sessions', {
      key,
      body: { agent_id: node.bootstrap.agent_id },
      headers: { 'idempotency-key': 'k' },
    });
  const other = await asOwner(node, 'POST', '/api/keys', { name: 'Other', role: 'admin' });
  const first = await session(node.bootstrap.api_key);
  t.is(first.status, 201, first.text);
  t.is((await session(node.bootstrap.api_key)).json.data.session_id, first.json.data.session_id);
  t.not((await session(other.json.data.api_key)).json.data.session_id, first.json.data.session_id);
  t.is((await create(node, '/api/agents', { name: 'a' }, 'k')).status, 201);
});

test('a refusal that stays is kept', async (t) => {
  const node = await shared.tenant(t);
  t.is((await create(node, '/api/agents', { name: 'taken' }, 'k1')).status, 201);
  const refused = await create(node, '/api/agents', { name: 'taken' }, 'k2');
  t.is(refused.status, 409);
  const again = await create(node, '/api/agents', { name: 'taken' }, 'k2');
  t.is(again.status, 409);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  t.is(again.json.message, refused.json.message);
});

test('wrong keys are refused by name', async (t) => {
  const node = await shared.tenant(t);
  for (const key of ['x'.repeat(256), 'naïve']) {
    const refused = await create(node, '/api/agents', { name: 'never' }, key);
    t.is(refused.status, 400, key);
    t.is(refused.json.details.field, 'Idempotency-Key');
  }
});

test('what a lost process made is answered by a repeat, and not made again', async (t) => {
  const node = await shared.tenant(t);
  const first = await create(node, '/api/agents', { name: 'made' }, 'k1');
  await loseAnswer(node);
  const again = await create(node, '/api/agents', { name: 'made' }, 'k1');
  t.is(again.status, 201, again.text);
  t.is(again.json.data.id, first.json.data.id);
  t.deepEqual((await create(node, '/api/agents', { name: 'made' }, 'k1')).json, again.json);
});

test('a secret that is shown once and was lost with its process is named, and not made again', async (t) => {
  const node = await shared.tenant(t);
  const first = await create(node, '/api/keys', { name: 'Lost', role: 'member' }, 'k1');
  await loseAnswer(node);
  const again = await create(node, '/api/keys', { name: 'Lost', role: 'member' }, 'k1');
  t.is(again.status, 409, again.text);
  t.is(again.json.details.made, `key:${first.json.data.id}`);
  const keys = await asOwner(node, 'GET', '/api/keys');
  t.is(keys.json.data.filter(({ name }: { name: string }) => name === 'Lost').length, 1);
});

test('a process that was lost before it made anything loses nothing', async (t) => {
  const node = await shared.tenant(t);
  const first = await create(node, '/api/agents', { name: 'gone' }, 'k1');
  await asOwner(node, 'DELETE', `/api/agents/${first.json.data.id}`);
  await loseAnswer(node, ', subject = null');
  const again = await create(node, '/api/agents', { name: 'gone' }, 'k1');
  t.is(again.status, 201, again.text);
  t.not(again.json.data.id, first.json.data.id);
});

test('after a day the key is new', async (t) => {
  const node = await shared.tenant(t);
  const first = await create(node, '/api/agents', { name: 'old' }, 'k1');
  const rows = await tenantView(node);
  await rows.query('update idempotent_requests set expires_at = now()');
  await rows.end();
  const other = await create(node, '/api/agents', { name: 'new' }, 'k1');
  t.is(other.status, 201, other.text);
  t.not(other.json.data.id, first.json.data.id);
});

test('every POST that creates in a tenant keeps what it made together with it', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id: agentId } = node.bootstrap;
  const schema = {
    name: 'tool',
    type: 'api',
    editor_schema: { api: { url: 'https://example.com/', auth: { type: 'none' } } },
  };
  const creations: readonly (readonly [string, object])[] = [
    ['/api/agents', { name: 'one' }],
    [`/api/agents/${agentId}/duplicate`, {}],
    [`/api/agents/${agentId}/schemas`, schema],
    [`/api/agents/${agentId}/versions`, {}],
    ['/api/keys', { name: 'Key', role: 'member' }],
    ['/api/secrets', { name: 'secret', value: 'v-1234567', kind: 'generic' }],
    [
      `/api/tenants/${node.bootstrap.tenant_id}/invites`,
      { email: `${randomUUID()}@test.example`, role: 'member' },
    ],
    ['/api/mail-domains', { domain: `${randomUUID()}.example` }],
    ['/api/triggers', { agent_id: agentId, name: 'hook', trigger_type: 'webhook', trigger_config: {} }],
  ];
  for (const [path, body] of creations) {
    const first = await create(node, path, body, 'k');
    t.is(first.status, 201, `${path}: ${first.text}`);
    const again = await create(node, path, body, 'k');
    t.deepEqual([again.status, again.json], [201, first.json], path);
  }
  const rows = await tenantView(node);
  const { rows: kept } = await rows.query<{ operation: string; subject: string; text: string }>(
    `select operation, subject, encode(sealed_answer, 'escape') as text from idempotent_requests`,
  );
  await rows.end();
  t.is(kept.length, creations.length);
  for (const { operation, subject, text } of kept) {
    t.regex(subject ?? 'none', /^[a-z_-]+:.+/, operation);
    t.false(text.includes('success'), 'answers are sealed');
  }
});

test('a rollback, a publication and a rotation of a secret with a key happen once, also after a crash', async (t) => {
  const node = await shared.tenant(t);
  const made = await asOwner(node, 'POST', '/api/agents', { name: 'rolled' });
  const at = `/api/agents/${made.json.data.id}`;
  const versions = async (): Promise<number> => (await asOwner(node, 'GET', `${at}/versions`)).json.count;
  for (const [key, path] of [
    ['k 1', `${at}/publish`],
    ['k 2', `${at}/versions/1/rollback`],
  ] as const) {
    const first = await create(node, path, {}, key);
    t.is(first.status, 200, first.text);
    const count = await versions();
    const again = await create(node, path, {}, key);
    t.deepEqual([again.status, again.json], [200, first.json], path);
    t.is(again.headers.get('idempotent-replayed'), 'true');
    await loseAnswer(node);
    const afterCrash = await create(node, path, {}, key);
    t.deepEqual([afterCrash.status, afterCrash.json], [200, first.json], path);
    t.is(await versions(), count, path);
  }
  const rolled = await create(node, `${at}/versions/1/rollback`, {}, 'k 2');
  t.like(rolled.json.data, { version: 2, name: 'Rollback to version 1' });
  t.is((await create(node, `${at}/versions/1/rollback`, {}, 'k 3')).json.data.version, 3);

  const trigger = await createTrigger(node, {});
  const rotate = () => create(node, `/api/triggers/${trigger.id}/rotate-secret`, {}, 'k');
  const rotated = await rotate();
  t.is(rotated.status, 200, rotated.text);
  t.deepEqual((await rotate()).json, rotated.json);
  await loseAnswer(node);
  const lost = await rotate();
  t.is(lost.status, 409, lost.text);
  t.is(lost.json.details.made, `trigger:${trigger.id}`, 'its secret is shown only once');
});

test('a copy and a version that a lost process made are answered by a repeat', async (t) => {
  const node = await shared.tenant(t);
  const at = `/api/agents/${node.bootstrap.agent_id}`;
  for (const path of [`${at}/duplicate`, `${at}/versions`]) {
    const first = await create(node, path, {}, 'k');
    t.is(first.status, 201, first.text);
    await loseAnswer(node);
    const again = await create(node, path, {}, 'k');
    t.deepEqual([again.status, again.json], [201, first.json], path);
  }
});

test("a response through OpenAI's interface is stored and paid once for a key, whole or streamed", async (t) => {
  const node = await shared.tenant(t);
  for (const stream of [false, true]) {
    const respond = (input: string): Promise<CallResult> =>
      node.client.call('POST', '/v1/responses', {
        key: node.bootstrap.api_key,
        body: { input, model: 'sim.lorem-8-5', stream },
        headers: { 'idempotency-key': `k-${stream}` },
      });
    const first = await respond('words');
    t.is(first.status, 200, first.text);
    const again = await respond('words');
    t.is(again.text, first.text);
    t.is(again.headers.get('idempotent-replayed'), 'true');
    const other = await respond('others');
    t.is(other.status, 409, other.text);
    t.is(other.json.error.code, 'conflict');
  }
  const { rows } = await booksOf(node);
  t.is(rows.length, 2);
});

test('a native call with a key is made and paid once, whole or streamed', async (t) => {
  const node = await shared.tenant(t);
  for (const stream of [false, true]) {
    const call = (query: string): Promise<CallResult> =>
      node.client.call('POST', '/api/v3/llm/public/call', {
        key: node.bootstrap.api_key,
        body: { query, model: 'sim.lorem-8-5', stream },
        headers: { 'idempotency-key': `k-${stream}` },
      });
    const [first, twin] = await Promise.all([call('words'), call('words')]);
    t.is(first.status, 200, first.text);
    t.is(twin.text, first.text);
    t.is((await call('words')).text, first.text);
    t.is((await call('others')).status, 409);
    t.is(first.headers.get('x-troupe-paid-by'), twin.headers.get('x-troupe-paid-by'));
  }
  const { rows } = await booksOf(node);
  t.is(rows.length, 2);
  t.is((await ask(node, { model: 'sim.echo' })).status, 200);
});

test('a repeat of a turn joins it while it runs, and reads it again when it has ended', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-20-20');
  const stream = (message: string): Promise<CallResult> =>
    node.client.call('POST', `/api/v2/agents/${talk.agentId}/stream`, {
      key: node.bootstrap.api_key,
      body: { message },
      headers: { 'idempotency-key': 'k' },
    });
  const execution = ({ text }: CallResult): string => /"execution_id":"([^"]+)"/.exec(text)?.[1] ?? 'none';
  const turns = await Promise.all([stream('go'), stream('go')]);
  const later = await stream('go');
  for (const turn of [...turns, later]) {
    t.is(turn.status, 200, turn.text);
    t.regex(turn.text, /"outcome":"COMPLETED"/);
    t.is(execution(turn), execution(later));
  }
  const other = await stream('something else');
  t.is(other.status, 409);
  t.is(other.json.error, 'conflict');
  const listed = await talk.get(`/api/v1/executions?agent_id=${talk.agentId}`);
  t.is(listed.count, 1);
  await loseAnswer(node);
  t.is(execution(await stream('go')), execution(later), 'nor is it begun again after a crash');
  const messages = await talk.get(`/api/v1/sessions/${listed.data[0].session_id}/messages`);
  t.is(messages.count, 2);
});

test('a trigger that is run by hand runs once for a key', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {});
  const path = `/api/triggers/${trigger.id}/invoke`;
  const first = await create(node, path, { message: 'hello' }, 'k');
  t.is(first.status, 200, first.text);
  t.is((await create(node, path, { message: 'hello' }, 'k')).text, first.text);
  const executions = await eventually(async () => {
    const { json } = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/executions`);
    return json.count > 0 ? json : undefined;
  });
  t.is(executions.count, 1);
});

test('a repeat of a request for a tenant gives the tenant that the first made', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token } = node.bootstrap;
  const make = (key: string, name: string): Promise<CallResult> =>
    node.client.call('POST', '/api/tenants', { token, body: { name }, headers: { 'idempotency-key': key } });
  const made = await Promise.all(Array.from({ length: 4 }, () => make('k 1', 'Once')));
  t.deepEqual(
    made.map(({ status }) => status),
    [201, 201, 201, 201],
  );
  t.is(new Set(made.map(({ text }) => text)).size, 1, 'the first answer');
  t.is(made.filter(({ headers }) => headers.get('idempotent-replayed') === 'true').length, 3);
  const id: string | undefined = made[0]?.json.data.id;
  const renamed = await node.client.call('PATCH', `/api/tenants/${id}`, { token, body: { name: 'Other' } });
  t.is(renamed.status, 200, renamed.text);
  t.deepEqual((await make('k 1', 'Once')).json, made[0]?.json);
  const reused = await make('k 1', 'Twice');
  t.is(reused.status, 409);
  t.is(reused.json.error, 'conflict');
  t.not((await make('k 2', 'Once')).json.data.id, id);
  t.not((await make('', 'Once')).json.data.id, id);
  t.is((await make('x'.repeat(256), 'Once')).status, 400);
  const tenants = await node.client.call('GET', '/api/tenants', { token });
  t.is(tenants.json.data.filter(({ name }: { name: string }) => name === 'Once').length, 2);
});
