// What a tenant spent, with names, for those who may read it.
import test from 'ava';
import type { Json } from '../support/clients/client.js';
import { ask } from '../support/clients/direct-calls.js';
import { sharedNode } from '../support/servers/shared-node.js';
import type { TenantNode } from '../support/servers/node.js';
import { makeTenant } from '../support/builders/tenants.js';
import { ownerView } from '../support/database/owner-view.js';

const shared = sharedNode(test);
const usagePath = '/api/billing/usage';

/**
 * Two hours back, from the sums of the present hour to those of that one, so that the range has two hours with calls. A call
 * with a key, since the sums name the key and the call of a turn has none.
 */
async function moveOneCallBack({ databaseUrl, bootstrap }: TenantNode): Promise<void> {
  const owner = await ownerView(databaseUrl);
  const by = [bootstrap.tenant_id];
  await owner.query(
    `with moved as (
       update usage_rows set opened_at = opened_at - interval '2 hours'
       where tenant_id = $1 and attempt_id = (
         select min(attempt_id::text)::uuid from usage_rows where tenant_id = $1 and key_id is not null
       )
       returning *
     ),
     taken as (
       update call_hours h set ledger_calls = h.ledger_calls - 1,
         ledger_input_tokens = h.ledger_input_tokens - m.input_tokens,
         ledger_output_tokens = h.ledger_output_tokens - m.output_tokens, ledger_cost = h.ledger_cost - m.cost::numeric
       from moved m
       where h.tenant_id = m.tenant_id and h.hour = date_trunc('hour', m.opened_at + interval '2 hours', 'UTC')
         and h.key_id = m.key_id and h.model = m.model and h.payer = m.payer
     )
     insert into call_hours select tenant_id, date_trunc('hour', opened_at, 'UTC'), '00000000-0000-0000-0000-000000000000',
       key_id, '00000000-0000-0000-0000-000000000000', vendor, model, source, payer, 'success', '', 0, 0, 0, 0, 0, 0, 0, 0,
       0, 0, 0, 1, input_tokens, output_tokens, cost::numeric from moved`,
    by,
  );
  await owner.end();
}

test('usage has a label for each group and the same total in every grouping', async (t) => {
  const node = await shared.tenant(t);
  const { api_key: key, access_token: token, tenant_id: tenant, agent_id: agent } = node.bootstrap;
  for (let count = 0; count < 2; count += 1) {
    t.is((await ask(node, { model: 'sim.echo', temperature: 1 })).status, 200);
  }
  const turnAt = new Date().toISOString();
  const turn = await node.client.call('POST', `/api/v2/agents/${agent}/stream`, {
    token,
    tenant,
    body: { message: 'Hello', metadata: { trace_id: 'billed' } },
  });
  t.is(turn.status, 200);
  await moveOneCallBack(node);
  const groupsBy = async (group: string, credential: object = { key }): Promise<Json> => {
    const { status, json, text } = await node.client.call(
      'GET',
      `${usagePath}?group_by=${group}`,
      credential,
    );
    if (status !== 200) throw new Error(`${group}: ${status} ${text}`);
    t.is(json.count, json.data.groups.length);
    return json.data;
  };
  const { total, currency } = await groupsBy('day');
  t.is(currency, 'USD');
  t.is(total.calls, 3);
  for (const group of ['day', 'agent', 'model', 'key', 'user', 'source', 'payer']) {
    const data = await groupsBy(group);
    t.deepEqual(data.total, total, group);
    for (const figure of ['calls', 'input_tokens', 'output_tokens']) {
      const sum = data.groups.reduce((all: number, each: Json) => all + each[figure], 0);
      t.is(sum, total[figure], `${group} ${figure}`);
    }
  }
  // The same day by day, and without being asked for nothing of it.
  for (const group of ['agent', 'model', 'key', 'user', 'source', 'payer']) {
    for (const { days, ...sum } of (await groupsBy(`${group}&by_day=true`)).groups) {
      for (const figure of ['calls', 'input_tokens', 'output_tokens'])
        t.is(
          days.reduce((all: number, each: Json) => all + each[figure], 0),
          sum[figure],
          `${group} ${sum.key} ${figure}`,
        );
      for (const { day } of days) t.regex(day, /^\d{4}-\d\d-\d\d$/);
    }
    t.false((await groupsBy(group)).groups.some((each: Json) => 'days' in each));
  }
  const labels = async (group: string): Promise<string[]> =>
    (await groupsBy(group, { token, tenant })).groups.map(({ label }: Json) => label).toSorted();
  t.deepEqual(await labels('key'), ['Key of the test', 'no key']);
  t.deepEqual(await labels('user'), ['Owner', 'no user']);
  t.deepEqual(await labels('model'), ['sim.echo']);
  t.deepEqual(await labels('payer'), ['platform']);
  const agents = (await groupsBy('agent')).groups;
  t.deepEqual(agents.map(({ key: id }: Json) => id).toSorted(), ['', agent].toSorted());
  t.false(agents.some(({ label }: Json) => label === agent || label === 'deleted agent'));
  const owner = await ownerView(node.databaseUrl);
  await owner.query(
    'update usage_rows set agent_id = gen_random_uuid() where tenant_id = $1 and agent_id is not null',
    [tenant],
  );
  await owner.end();
  // With both ends, the range holds no whole hour: one is read from its sums, which still name the agent.
  const range = `start_date=${turnAt}&end_date=${new Date().toISOString()}&group_by=agent`;
  const { json } = await node.client.call('GET', `${usagePath}?${range}`, { key });
  t.true(json.data.groups.some(({ label }: Json) => label === 'deleted agent'));
});

test('plan and usage are for owners and admins, with a key or a token, and of their tenant', async (t) => {
  const node = await shared.tenant(t);
  await ask(node, { model: 'sim.echo' });
  const stranger = await makeTenant(node);
  const { users, keys, tenantId: tenant } = stranger;
  for (const path of [usagePath, '/api/billing/plan']) {
    for (const role of ['owner', 'admin', 'editor', 'member'] as const) {
      const wanted = role === 'owner' || role === 'admin' ? 200 : 403;
      for (const credential of [{ key: keys[role] }, { token: users[role].token, tenant }]) {
        const { status, text } = await node.client.call('GET', path, credential);
        t.is(status, wanted, `${path} ${role} ${text}`);
      }
    }
    t.is((await node.client.call('GET', path)).status, 401);
  }
  const { json } = await node.client.call('GET', usagePath, { key: keys.admin });
  t.deepEqual(json.data, {
    currency: 'USD',
    total: { calls: 0, input_tokens: 0, output_tokens: 0, cost: 0 },
    groups: [],
  });
  const bad = await node.client.call('GET', `${usagePath}?group_by=mood`, { key: keys.admin });
  t.is(bad.json.error, 'validation_error');
  const { data: plan } = (await node.client.call('GET', '/api/billing/plan', { key: keys.admin })).json;
  t.is(plan.plan, 'enterprise');
  t.deepEqual(Object.keys(plan).toSorted(), ['budget', 'limits', 'period', 'plan', 'tiers']);
  t.true(plan.tiers.length > 0);
  t.regex(plan.period.start, /^\d{4}-\d\d-01T00:00:00.000Z$/);
  t.true(plan.period.start < new Date().toISOString() && plan.period.end > new Date().toISOString());
});
