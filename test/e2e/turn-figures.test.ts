import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Json } from '../support/clients/client.js';
import { ask } from '../support/clients/direct-calls.js';
import { ownerView } from '../support/database/owner-view.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

async function get(node: TenantNode, path: string): Promise<Json> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const { status, json, text } = await node.client.call('GET', `/api/telemetry/${path}`, { token, tenant });
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return json;
}

test('turns are counted by status, of one agent or of all', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const none = await get(node, 'turns');
  t.is(none.data.total, 0);
  t.deepEqual(none.data.latency, { p50_ms: 0, p95_ms: 0 });
  for (let count = 0; count < 2; count += 1) {
    const { status } = await client.call('POST', `/api/v2/agents/${bootstrap.agent_id}/stream`, {
      key: bootstrap.api_key,
      body: { message: 'hello' },
    });
    t.is(status, 200);
  }
  const { data } = await get(node, 'turns?hours=1');
  t.is(data.total, 2);
  t.is(data.by_status.completed, 2);
  t.is(data.by_status.failed, 0);
  t.true(data.latency.p50_ms <= data.latency.p95_ms);
  t.is((await get(node, `turns?agent_id=${bootstrap.agent_id}`)).data.total, 2);
  t.is((await get(node, `turns?agent_id=${randomUUID()}`)).data.total, 0);
  t.is((await get(await shared.tenant(t), 'turns')).data.total, 0, 'those of other tenants are not counted');
});

test('one call is read by its id, with why it failed and which attempts it took', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap, databaseUrl } = node;
  await ask(node, { model: 'sim.echo', query: 'Look at me' });
  const said = await client.call('POST', `/api/v2/agents/${bootstrap.agent_id}/stream`, {
    key: bootstrap.api_key,
    body: { message: 'hello' },
  });
  t.is(said.status, 200);
  // What a vendor that does not answer would leave.
  const owner = await ownerView(databaseUrl);
  await owner.query(
    "update calls set status = 'error', failure = 'timeout' where tenant_id = $1 and execution_id is null",
    [bootstrap.tenant_id],
  );
  await owner.end();
  const { data: rows } = await get(node, 'logs?order_dir=asc');
  const [direct, ofTurn] = rows as readonly Json[];
  t.like(direct, {
    model: 'sim.echo',
    first_model: 'sim.echo',
    status: 'error',
    failure: 'timeout',
    session_id: null,
    execution_id: null,
  });
  t.like(ofTurn, { status: 'success', failure: null });
  t.truthy(ofTurn?.session_id);
  for (const row of [direct, ofTurn]) {
    const { attempts, ...entry } = (await get(node, `logs/${row?.id}`)).data;
    t.deepEqual(entry, row);
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, provider: 'sim', outcome: 'completed', failure: null });
  }
  const other = (await shared.tenant(t)).bootstrap;
  const refused = await client.call('GET', `/api/telemetry/logs/${direct?.id}`, {
    token: other.access_token,
    tenant: other.tenant_id,
  });
  t.is(refused.status, 404);
  t.is(refused.json.error.code, 'NOT_FOUND');
});
