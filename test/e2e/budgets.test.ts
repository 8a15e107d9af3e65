// Budgets of keys, tenants and agents, spent at a vendor with prices.
import test from 'ava';
import { ask, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import type { TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';
const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

async function rowsOf(node: TenantNode, text: string): Promise<Record<string, unknown>[]> {
  const owner = await ownerView(node.databaseUrl);
  try {
    return (await owner.query<Record<string, unknown>>(text, [node.bootstrap.tenant_id])).rows;
  } finally {
    await owner.end();
  }
}

test.serial(
  'a key with a spent budget is refused, told in events and mails once, and others are not',
  async (t) => {
    const node = await shared.tenant(t);
    const { client, bootstrap } = node;
    const { access_token: token, tenant_id: tenant } = bootstrap;
    const first = await ask(node, { model, max_tokens: 1 });
    t.is(first.status, 200, first.text);
    const cost: number = first.json.cost;
    t.true(cost > 0);
    // The second call crosses the budget and is served.
    const usd = cost * 1.5;
    const body = { name: 'poor', budget: { usd, period: 'month' } };
    const made = await client.call('POST', '/api/keys', { token, tenant, body });
    t.deepEqual(made.json.data.budget, { usd, period: 'month' });
    const key: string = made.json.data.api_key;
    const again = { model, max_tokens: 1, query: 'Hello there' };
    t.is((await ask(node, again, { key })).status, 200);
    t.is((await ask(node, again, { key })).status, 200);
    for (let time = 0; time < 2; time += 1) {
      const refused = await ask(node, again, { key });
      t.is(refused.status, 429, refused.text);
      t.is(refused.json.error, 'quota_exceeded');
      const { resets_at: resetsAt, spent_usd: spent, ...details } = refused.json.details;
      t.deepEqual(details, { kind: 'budget', scope: 'key', limit_usd: usd });
      t.is(spent, Math.round(cost * 2 * 1e9) / 1e9);
      t.regex(resetsAt, /^\d{4}-\d{2}-01T00:00:00\.000Z$/);
      t.true(Number(refused.headers.get('retry-after')) > 0);
    }
    t.is((await ask(node, again)).status, 200, 'another key of the tenant');
    const stranger = await shared.tenant({ title: 'a tenant beside' });
    t.is((await ask(stranger, again)).status, 200, 'another tenant');

    const notices = `select percent::int from budget_notices where tenant_id = $1 order by percent`;
    await eventually(async () => (await rowsOf(node, notices)).length === 2);
    t.deepEqual(await rowsOf(node, notices), [{ percent: 80 }, { percent: 100 }]);
    const events = `select data from realtime_events where tenant_id = $1 and type = 'budget_threshold' order by number`;
    const told = (await rowsOf(node, events)).map(({ data }) => data as Record<string, unknown>);
    t.deepEqual(
      told.map(({ scope, id, percent, limit_usd: limit }) => [scope, id, percent, limit]),
      [
        ['key', made.json.data.id, 80, usd],
        ['key', made.json.data.id, 100, usd],
      ],
    );
    t.is(
      (await rowsOf(node, 'select 1 from mails where tenant_id = $1')).length,
      2,
      'one mail for each threshold',
    );

    // A raised budget serves again at once, and has thresholds of its own.
    const path = `/api/keys/${made.json.data.id}`;
    const wider = cost * 3.5;
    const widened = { budget: { usd: wider, period: 'month' } };
    t.is((await client.call('PATCH', path, { token, tenant, body: widened })).status, 200);
    t.is((await ask(node, again, { key })).status, 200);
    await eventually(async () => (await rowsOf(node, events)).length === 3);
    const [, , third] = (await rowsOf(node, events)).map(({ data }) => data as Record<string, unknown>);
    t.like(third, { id: made.json.data.id, percent: 80, limit_usd: Math.round(wider * 1e9) / 1e9 });
    t.is((await rowsOf(node, 'select 1 from mails where tenant_id = $1')).length, 3);
    const raised = { budget: { usd: 1, period: 'month' } };
    t.is((await client.call('PATCH', path, { token, tenant, body: raised })).status, 200);
    t.is((await ask(node, again, { key })).status, 200);
    t.is((await rowsOf(node, events)).length, 3, 'far from its limit');
  },
);

test.serial('the budget of a tenant stands in its plan and holds for every key and for agents', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const { access_token: token, tenant_id: tenant, api_key: key } = bootstrap;
  const path = `/api/tenants/${tenant}`;
  const budget = { usd: 0.000001, period: 'day' };
  const agent = await publishAgent(client, { access_token: token, tenant_id: tenant }, { model });
  const changed = await client.call('PATCH', path, { token, body: { budget } });
  t.is(changed.status, 200, changed.text);
  t.deepEqual(changed.json.data.budget, budget);
  t.deepEqual((await client.call('GET', '/api/billing/plan', { key })).json.data.budget, budget);
  t.is((await ask(node, { model })).status, 200, 'the call that crosses is served');
  const refused = await ask(node, { model });
  t.is(refused.status, 429, refused.text);
  t.is(refused.json.details.scope, 'tenant');
  t.regex(refused.json.details.resets_at, /T00:00:00\.000Z$/);
  const messages = [{ role: 'user', content: 'hello' }];
  t.is((await client.call('POST', '/v1/chat/completions', { key, body: { model, messages } })).status, 429);
  t.is(
    (await client.call('POST', '/v1/messages', { key, body: { model, messages, max_tokens: 9 } })).status,
    429,
  );
  const turn = { message: 'hello', metadata: { trace_id: 'one' } };
  const stream = await client.call('POST', `/api/v2/agents/${agent}/stream`, { key, body: turn });
  t.is(stream.status, 429, stream.text);
  t.is(stream.json.details.kind, 'budget');
  t.is((await client.call('PATCH', path, { token, body: { budget: null } })).status, 200);
  t.false('budget' in (await client.call('GET', path, { token })).json.data);
  await eventually(async () => (await ask(node, { model })).status === 200);
  t.is(
    (await client.call('PATCH', path, { token, body: { budget: { usd: 0, period: 'day' } } })).status,
    400,
  );
  const stranger = await shared.tenant({ title: 'a stranger' });
  const foreign = await client.call('PATCH', path, {
    token: stranger.bootstrap.access_token,
    body: { budget },
  });
  t.is(foreign.status, 404);
});

test.serial(
  'an answer that crosses a budget and does not fit its schema is asked for once more',
  async (t) => {
    const node = await shared.tenant(t);
    const { client, bootstrap } = node;
    const { access_token: token, tenant_id: tenant } = bootstrap;
    const body = { name: 'poor', budget: { usd: 0.000001, period: 'day' } };
    const made = await client.call('POST', '/api/keys', { token, tenant, body });
    const key: string = made.json.data.api_key;
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const format = { type: 'json_schema', json_schema: { name: 'city', schema } };
    server.script({ pieces: ['Rome'] }, { pieces: ['{"city":"Rome"}'] });
    const answer = await ask(node, { model, response_format: format }, { key });
    t.deepEqual([answer.status, answer.json.parsed], [200, { city: 'Rome' }], answer.text);
    const refused = await ask(node, { model }, { key });
    t.deepEqual([refused.status, refused.json.details.kind], [429, 'budget'], refused.text);
  },
);

test.serial('the budget of an agent holds for its turns alone', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const { access_token: token, tenant_id: tenant, api_key: key } = bootstrap;
  const more = { metadata: { budget: { usd: 0.000001, period: 'day' } } };
  const agent = await publishAgent(client, { access_token: token, tenant_id: tenant }, { model, more });
  const turn = (trace: string) =>
    client.call('POST', `/api/v2/agents/${agent}/stream`, {
      key,
      body: { message: 'hello', metadata: { trace_id: trace } },
    });
  t.is((await turn('one')).status, 200);
  const refused = await turn('two');
  t.is(refused.status, 429, refused.text);
  t.is(refused.json.details.scope, 'agent');
  t.is((await ask(node, { model })).status, 200);
});
