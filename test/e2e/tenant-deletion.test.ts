// The deletion of a tenant: what ends at once, and that no row is left.
import test from 'ava';
import { systemTime } from '../../cluster/index.js';
import { TenantRemoval } from '../../src/app/deletion/index.js';
import { openStore } from '../../src/infra/storage/index.js';
import { brokenText, openEvents, openSocket } from '../support/clients/sockets.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { startConversations } from '../support/servers/conversations.js';
import { operatorToken, startTestNode, type TestNode } from '../support/servers/node.js';
import { makeTenant } from '../support/builders/tenants.js';

/** Rows of the tenant by table, of every table that has tenants. */
async function rowsOf(owner: Awaited<ReturnType<typeof ownerView>>, tenant: string) {
  const { rows: tables } = await owner.query<{ name: string }>(
    `select quote_ident(c.table_name) as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE'`,
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await owner.query(`select count(*)::int as n from ${name} where tenant_id = $1`, [
      tenant,
    ]);
    if (rows[0].n > 0) found[name] = rows[0].n;
  }
  return { found, tables: tables.length };
}

async function removalOf(node: TestNode, ageMs: number) {
  const store = await openStore({ databaseUrl: node.databaseUrl });
  const failures: unknown[] = [];
  const time = { ...systemTime, wallMs: () => systemTime.wallMs() + ageMs };
  const removal = new TenantRemoval({ store, time, report: (_, error) => failures.push(error) });
  return { removal, failures, close: () => store.close() };
}

test('an owner deletes the tenant: nothing of it works on any node, and no row is left', async (t) => {
  // Of their own: two nodes over one database, and the removal sees all tenants.
  const node = await startTestNode(t);
  const second = await startTestNode(t, { databaseUrl: node.databaseUrl });
  const { client, bootstrap } = node;
  const { tenant_id: id, access_token: token, api_key: key, agent_id: agent } = bootstrap;
  const neighbour = await makeTenant(node);
  const talk = await startConversations(node);
  await talk.say('hello');
  const response = await client.call('POST', '/v1/responses', {
    key,
    body: { model: 'sim.echo', input: 'hi' },
  });
  t.is(response.status, 200, response.text);
  const asOwner = { token, tenant: id };
  const secret = await client.call('POST', '/api/secrets', {
    ...asOwner,
    body: { name: 'kept', value: 'a value to keep', kind: 'generic' },
  });
  t.is(secret.status, 201);
  const trigger = await client.call('POST', '/api/triggers', {
    ...asOwner,
    body: {
      agent_id: talk.agentId,
      name: 'in',
      trigger_type: 'webhook',
      trigger_config: { auth: { type: 'none' } },
    },
  });
  t.is(trigger.status, 201, trigger.text);
  const webhook = `/api/triggers/webhook/${trigger.json.data.id}`;
  await client.call('POST', webhook, { body: { message: 'hello' } });
  await client.call('PATCH', `/api/agents/${agent}`, {
    ...asOwner,
    body: { llm_config: { model: 'sim.lorem-5000-50' } },
  });
  await client.call('POST', `/api/agents/${agent}/publish`, asOwner);
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const stream = await fetch(`${client.baseUrl}/api/v2/agents/${agent}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ message: 'go on' }),
    signal: leaving.signal,
  });
  t.is(stream.status, 200);
  // The second node knows the key and the member from its memory.
  t.is((await second.client.call('GET', '/api/quota', { key })).status, 200);
  t.is((await second.client.call('GET', '/api/agents', asOwner)).status, 200);
  const name = (await client.call('GET', `/api/tenants/${id}`, { token })).json.data.name as string;
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const executions = async (where: string): Promise<number> => {
    const { rows } = await owner.query(
      `select count(*)::int as n from executions where tenant_id = $1 and ${where}`,
      [id],
    );
    return rows[0].n;
  };
  await eventually(async () => (await executions('outcome is null')) > 0);

  const wrong = await client.call('DELETE', `/api/tenants/${id}`, { token, body: { confirm: `${name}!` } });
  t.is(`${wrong.status} ${wrong.json.error} ${wrong.json.details.field}`, '400 validation_error confirm');
  t.is((await client.call('DELETE', `/api/tenants/${id}`, { token, body: {} })).status, 400);
  t.is((await client.call('GET', '/api/quota', { key })).status, 200);

  const deleted = await client.call('DELETE', `/api/tenants/${id}`, { token, body: { confirm: name } });
  t.is(deleted.status, 202, deleted.text);
  t.deepEqual(deleted.json, { success: true, data: { id, status: 'deleting' } });
  const answers = async ({ client: at }: TestNode) => [
    await at.call('GET', '/api/quota', { key }),
    await at.call('GET', '/api/agents', asOwner),
    await at.call('GET', `/api/tenants/${id}`, { token }),
  ];
  const told = async (at: TestNode) =>
    (await answers(at)).map(({ status, json }) => `${status} ${json.error}`);
  const gone = Array.from({ length: 3 }, () => '404 tenant_not_found');
  t.deepEqual(await told(node), gone);
  await eventually(async () => JSON.stringify(await told(second)) === JSON.stringify(gone));
  for (const at of [node, second]) {
    const refused = await at.client.call('POST', webhook, { body: { message: 'hello' } });
    t.is(`${refused.status} ${refused.json.error}`, '404 not_found');
  }
  await t.throwsAsync(async () => {
    for await (const _ of stream.body ?? []) void _;
  });
  await eventually(async () => (await executions('outcome is null')) === 0);
  t.true((await executions(`outcome = 'CANCELLED'`)) > 0);
  const keys = await owner.query('select from vault_data_keys where tenant_id = $1', [id]);
  t.is(keys.rowCount, 0, 'the data key goes first');
  t.is((await owner.query('select from secret_versions where tenant_id = $1', [id])).rowCount, 0);
  const listed = await client.call('GET', '/api/v1/operator/tenants?status=deleting', {
    token: operatorToken,
  });
  t.deepEqual(
    listed.json.data.map((row: { id: string; status: string }) => [row.id, row.status]),
    [[id, 'deleting']],
  );
  const resumed = await client.call('POST', `/api/v1/operator/tenants/${id}/resume`, {
    token: operatorToken,
  });
  t.is(resumed.json.error, 'tenant_not_found');

  const before = await rowsOf(owner, id);
  t.true(before.tables > 30);
  for (const table of ['messages', 'executions', 'actors', 'audit_entries', 'calls', 'call_hours']) {
    t.true((before.found[table] ?? 0) > 0, `${table} has rows to remove`);
  }
  const early = await removalOf(node, 0);
  await early.removal.run();
  await early.close();
  t.true(((await rowsOf(owner, id)).found['messages'] ?? 0) > 0, 'turns have time to end');
  const neighbours = await rowsOf(owner, neighbour.tenantId);
  const late = await removalOf(node, 60_000);
  t.teardown(late.close);
  await late.removal.run();
  t.deepEqual(late.failures, []);
  t.deepEqual((await rowsOf(owner, id)).found, {});
  t.is((await owner.query('select from tenants where id = $1', [id])).rowCount, 0);
  t.deepEqual((await rowsOf(owner, neighbour.tenantId)).found, neighbours.found);
  const { rows: entries } = await owner.query(
    `select actor, action, details from platform_audit_entries where subject = $1`,
    [`tenant:${id}`],
  );
  t.is(entries.length, 1);
  t.like(entries[0], { action: 'tenant.deleted', details: {} });
  t.regex(entries[0].actor, /^user:/);
  const after = await client.call('GET', `/api/v1/operator/tenants/${id}`, { token: operatorToken });
  t.is(after.json.error, 'tenant_not_found');
});

test('the open streams of a deleted tenant say that it is deleted', async (t) => {
  const node = await startTestNode(t);
  const { client, bootstrap } = node;
  const { tenant_id: id, access_token: token, api_key: key } = bootstrap;
  const talk = await startConversations(node);
  const agent = await talk.agent('sim.lorem-5000-50');
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const turn = await fetch(`${client.baseUrl}/api/v2/agents/${agent}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ message: 'go on' }),
    signal: leaving.signal,
  });
  t.is(turn.status, 200);
  const realtime = await openEvents(`${client.baseUrl}/api/v1/realtime/events`, { 'x-api-key': key });
  const socket = await openSocket(`${client.baseUrl}/api/v1/realtime`, { 'x-api-key': key });
  const text = brokenText(turn);
  const { name } = (await client.call('GET', `/api/tenants/${id}`, { token })).json.data;
  const deleted = await client.call('DELETE', `/api/tenants/${id}`, { token, body: { confirm: name } });
  t.is(deleted.status, 202, deleted.text);
  const error = { type: 'error', code: 'tenant_not_found', message: 'The tenant was deleted.' };
  const event = `event: error\ndata: ${JSON.stringify(error)}`;
  t.is((await text).trimEnd().split('\n\n').at(-1), event);
  await eventually(() => realtime.ended());
  t.deepEqual(
    realtime.events().filter((one) => one.startsWith('event: error')),
    [event],
  );
  await eventually(() => socket.closedWith() !== undefined);
  t.is(socket.closedWith(), 4401);
  const told = socket.messages.map((message) => JSON.parse(message) as { readonly type?: string });
  t.deepEqual(
    told.filter(({ type }) => type === 'error'),
    [error],
  );
});

test('a removal that a crash broke off is finished by another node; nobody else may start one', async (t) => {
  const node = await startTestNode(t);
  const tenant = await makeTenant(node);
  const admin = await node.client.call('DELETE', `/api/tenants/${tenant.tenantId}`, {
    token: tenant.users.admin.token,
    body: { confirm: 'x' },
  });
  t.is(admin.status, 403);
  const path = `/api/v1/operator/tenants/${tenant.tenantId}`;
  const { name } = (await node.client.call('GET', path, { token: operatorToken })).json.data;
  const wrong = await node.client.call('DELETE', path, { token: operatorToken, body: { confirm: 'x' } });
  t.is(`${wrong.status} ${wrong.json.details.field}`, '400 confirm');
  for (const time of ['first', 'second']) {
    const { status, json } = await node.client.call('DELETE', path, {
      token: operatorToken,
      body: { confirm: name },
    });
    t.is(status, 202, time);
    t.deepEqual(json.data, { id: tenant.tenantId, status: 'deleting' });
  }
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  // A node claimed the tenant, removed its entries and ended.
  await owner.query(`update tenants set removal_claimed_at = now() + interval '1 minute' where id = $1`, [
    tenant.tenantId,
  ]);
  await owner.query('delete from audit_entries where tenant_id = $1', [tenant.tenantId]);
  const during = await removalOf(node, 60_000);
  await during.removal.run();
  await during.close();
  t.is((await owner.query('select from tenants where id = $1', [tenant.tenantId])).rowCount, 1, 'claimed');
  const later = await removalOf(node, 240_000);
  t.teardown(later.close);
  await later.removal.run();
  t.deepEqual(later.failures, []);
  t.deepEqual((await rowsOf(owner, tenant.tenantId)).found, {});
});

test.serial('a start after the demo tenant was deleted makes another one', async (t) => {
  const first = await startTestNode(t);
  const { tenant_id: id } = first.bootstrap;
  const deleted = await first.client.call('DELETE', `/api/v1/operator/tenants/${id}`, {
    token: operatorToken,
    body: { confirm: 'Demo' },
  });
  t.is(deleted.status, 202);
  await first.stop();
  const next = await startTestNode(t, { databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  t.not(next.bootstrap.tenant_id, id);
});
