import { randomUUID } from 'node:crypto';
import test from 'ava';
import { logTo } from '../support/builders/platform.js';
import { systemRandom, systemTime } from '../../cluster/index.js';
import { openBatchWriters, openStore } from '../../src/infra/storage/index.js';
import { type CallRow, Ledger, ledgerRows } from '../../src/models/usage/index.js';
import type { Json } from '../support/clients/client.js';
import { ask } from '../support/clients/direct-calls.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { makeTenant } from '../support/builders/tenants.js';
import { call } from '../support/database/usage-rows.js';

const shared = sharedNode(test);

const hourMs = 3_600_000;

/** Rows as the ledger records them, in the demo tenant unless another is named. */
async function tell(node: TenantNode, ...rows: readonly Partial<CallRow>[]): Promise<void> {
  const { databaseUrl } = node;
  const store = await openStore({ databaseUrl });
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  const report = (what: string, error: unknown): never => {
    throw new Error(what, { cause: error });
  };
  const ledger = new Ledger({ writers, rows: ledgerRows(store), time: systemTime, log: logTo(report) });
  await Promise.all(rows.map((row) => ledger.record({ ...usual(node), ...row })));
  await writers.close();
  await store.close();
}

function usual({ bootstrap }: TenantNode): CallRow {
  return call(bootstrap.tenant_id, {
    started_at: new Date().toISOString(),
    call_source: 'Central.LLM.Controller',
    provider: 'openai',
    model: 'openai.gpt-4.1-mini',
    first_model: 'openai.gpt-4.1-mini',
    response_time_ms: 100,
    input_preview: 'asked',
    output_preview: 'answered',
  });
}

async function get(node: TenantNode, path: string): Promise<Json> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const { status, json, text } = await node.client.call('GET', `/api/telemetry/${path}`, { token, tenant });
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return json;
}

test('every report shows a call and its repeat from the cache', async (t) => {
  const node = await shared.tenant(t);
  for (let count = 0; count < 2; count += 1) await ask(node, { model: 'sim.echo', temperature: 0 });
  const { data: entries, total, pagination, success } = await get(node, 'logs');
  t.true(success);
  t.is(total, 2);
  t.deepEqual(pagination, { page: 1, limit: 50, pages: 1 });
  const [hit, call] = entries;
  t.like(call, {
    user_id: null,
    agent_id: null,
    provider: 'sim',
    model: 'sim.echo',
    input_tokens: 2,
    output_tokens: 3,
    total_tokens: 5,
    call_source: 'Central.LLM.Controller',
    metadata: { source: 'provider', input_preview: 'Hello there', output_preview: 'echo: Hello there' },
  });
  t.is(hit.metadata.source, 'response_cache');
  t.regex(call.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
  const { data: dashboard } = await get(node, 'dashboard');
  t.like(dashboard.summary, { period_days: 7, total_calls: 2, total_tokens: 10, success_rate_pct: 100 });
  t.deepEqual(dashboard.cache, { calls_with_cache: 1, cache_hit_rate_pct: 100, total_cached_tokens: 5 });
  t.deepEqual(dashboard.by_provider, [{ provider: 'sim', calls: 2 }]);
  t.true(dashboard.hourly_usage.length >= 168);
  t.is(
    dashboard.hourly_usage.reduce((sum: number, { calls }: Json) => sum + calls, 0),
    2,
  );
  const hours = (await get(node, 'usage-by-hour')).data;
  t.is(hours.length, 24);
  t.is(
    hours.reduce((sum: number, { requests }: Json) => sum + requests, 0),
    2,
  );
  const [source] = (await get(node, 'call-sources')).data;
  t.like(source, { call_source: 'Central.LLM.Controller', total_calls: 2, success_rate_pct: 100 });
  const { data: loop } = await get(node, 'loopgraph');
  t.like(loop.summary, { total_executions: 2, total_tokens: 10, unique_sessions: 0 });
});

test('sums over hours and partial hours at both ends are exact, with every filter', async (t) => {
  const node = await shared.tenant(t);
  const [agent, other] = [randomUUID(), randomUUID()];
  const at = (text: string): string => new Date(text).toISOString();
  await tell(
    node,
    { started_at: at('2026-11-02T09:59:59.999Z'), input_tokens: 1_000_000 },
    { started_at: at('2026-11-02T10:00:00Z'), agent_id: agent },
    {
      started_at: at('2026-11-02T10:30:00Z'),
      agent_id: agent,
      status: 'error',
      response_time_ms: 300,
      failure: 'timeout',
      cost: 0.1,
      // Another model was tried without success.
      first_model: 'x.y',
    },
    { started_at: at('2026-11-02T13:00:00Z'), agent_id: other, model: 'openai.gpt-5', first_model: 'x.y' },
    {
      started_at: at('2026-11-03T00:20:00Z'),
      provider: 'google',
      model: 'google.g',
      first_model: 'google.g',
      from_cache: true,
    },
    { started_at: at('2026-11-03T00:20:01Z'), input_tokens: 1_000_000, cached_tokens: 7 },
  );
  const range = 'start_date=2026-11-02T10:00:00Z&end_date=2026-11-03T00:20:00.500Z';
  const { data: all } = await get(node, `metrics?${range}`);
  t.deepEqual(all, {
    totalRequests: 4,
    totalTokens: 60,
    cost: 0.1,
    averageLatency: 150,
    latency: all.latency,
    successRate: 75,
    successCount: 3,
    errorCount: 1,
    errors: [{ failure: 'timeout', count: 1 }],
    topModels: all.topModels,
    topAgents: [
      { agent_id: agent, requests: 2, tokens: 30 },
      { agent_id: other, requests: 1, tokens: 15 },
    ],
  });
  // Three answers took 100 ms and one 300 ms; the bounds of their buckets are these.
  t.true(all.latency.p50_ms > 90 && all.latency.p50_ms <= 129, String(all.latency.p50_ms));
  t.true(all.latency.p95_ms > 256 && all.latency.p99_ms <= 363, String(all.latency.p99_ms));
  t.deepEqual(all.topModels[0], { model: 'openai.gpt-4.1-mini', requests: 2, tokens: 30 });
  for (const [filter, requests] of [
    [`agent_id=${agent}`, 2],
    ['provider=google', 1],
    ['model=openai.gpt-5', 1],
    ['status=error', 1],
  ] as const) {
    t.is((await get(node, `metrics?${range}&${filter}`)).data.totalRequests, requests, filter);
    t.is((await get(node, `logs?${range}&${filter}`)).total, requests, filter);
  }
  const days = 'start_date=2026-11-02&end_date=2026-11-03';
  const { data: dashboard } = await get(node, `dashboard?${days}`);
  t.like(dashboard.summary, { period_days: 2, total_calls: 6, cost: 0.1 });
  t.deepEqual(dashboard.errors, [{ failure: 'timeout', count: 1 }]);
  t.true(dashboard.latency.p50_ms <= dashboard.latency.p99_ms);
  t.like(dashboard.hourly_usage[10], { hour: '2026-11-02T10:00:00.000Z', calls: 2, cost: 0.1 });
  t.deepEqual(dashboard.fallback, { total_errors: 1, total_fallbacks: 1, fallback_rate_pct: 16.67 });
  t.is(dashboard.hourly_usage.length, 48);
  const { data: half } = await get(node, 'dashboard?start_date=2026-06-01&end_date=2026-11-03');
  t.is(half.hourly_usage.length, 156 * 24, 'hours without calls are listed too');
  const minutes = 'start_date=2026-11-02T10:20:00Z&end_date=2026-11-02T10:40:00Z';
  const { data: part } = await get(node, `dashboard?${minutes}`);
  t.deepEqual(part.fallback, { total_errors: 1, total_fallbacks: 0, fallback_rate_pct: 0 });
  const { data: cache } = await get(node, `cache?${days}`);
  t.deepEqual(cache.summary, {
    total_calls: 6,
    calls_with_cache_hit: 2,
    total_cached_tokens: 7,
    total_cache_creation_tokens: 0,
    cache_hit_rate_pct: 40,
  });
  t.deepEqual(cache.by_day, [
    { day: '2026-11-02', cache_hits: 0, cached_tokens: 0 },
    { day: '2026-11-03', cache_hits: 2, cached_tokens: 7 },
  ]);
  const one = await get(node, `logs?${days}&limit=2&page=3&order_by=total_tokens&order_dir=asc`);
  t.deepEqual(one.pagination, { page: 3, limit: 2, pages: 3 });
  t.is(one.data.length, 2);
  t.is(one.data[1].total_tokens, 1_000_005);
});

test('sessions are listed with their calls, newest first', async (t) => {
  const node = await shared.tenant(t);
  const [first, second] = [randomUUID(), randomUUID()];
  const now = Date.now();
  const back = (ms: number): string => new Date(now - ms).toISOString();
  await tell(
    node,
    { session_id: first, started_at: back(3 * hourMs), cost: 0.1 },
    { session_id: second, started_at: back(2 * hourMs) },
    { session_id: first, started_at: back(hourMs), status: 'error', cost: 0.2 },
    {},
  );
  const { data, total } = await get(node, 'sessions?limit=1');
  t.is(total, 2);
  t.deepEqual(data, [
    {
      session_id: first,
      agent_id: null,
      first_interaction: back(3 * hourMs),
      last_interaction: back(hourMs),
      total_calls: 2,
      total_tokens: 30,
      cost: 0.3,
      total_latency_ms: 200,
      errors: 1,
      avg_latency_ms: 100,
      duration_ms: 2 * hourMs,
    },
  ]);
});

test('execution paths lead from triggers over agents to models and tools', async (t) => {
  const node = await shared.tenant(t);
  const { tenant_id: tenant, agent_id: agent } = node.bootstrap;
  const [execution, trigger] = [randomUUID(), randomUUID()];
  const owner = await ownerView(node.databaseUrl);
  await owner.query(
    `insert into executions (tenant_id, id, agent_id, trigger_id, slot, arrival, channel, status, outcome, due_at, input,
       created_at) values ($1, $2, $3, $4, 0, 1, 'webhook', 'completed', 'COMPLETED', now(), '{}', now())`,
    [tenant, execution, agent, trigger],
  );
  const now = Date.now();
  const step = { execution_id: execution, agent_id: agent ?? null, call_source: 'agent.tool-loop' };
  await tell(
    node,
    { ...step, started_at: new Date(now - 3_000).toISOString() },
    { ...step, started_at: new Date(now - 1_000).toISOString() },
  );
  await owner.query(
    `insert into execution_steps (tenant_id, execution_id, number, kind, name, state, started_at, finished_at)
     values ($1, $2, 2, 'tool', 'weather', 'failed', $3, $4)`,
    [tenant, execution, new Date(now - 2_000), new Date(now - 1_500)],
  );
  await owner.end();
  const { data: loop } = await get(node, `loopgraph?agent_id=${agent}`);
  t.deepEqual(loop.nodes, [
    { node: 'agent.tool-loop', executions: 2, total_tokens: 30, avg_latency_ms: 100, error_rate_pct: 0 },
    { node: 'tool:weather', executions: 1, total_tokens: 0, avg_latency_ms: 500, error_rate_pct: 100 },
  ]);
  t.deepEqual(loop.edges, [
    { source: 'agent.tool-loop', target: 'tool:weather', count: 1 },
    { source: 'tool:weather', target: 'agent.tool-loop', count: 1 },
  ]);
  t.is(loop.summary.total_executions, 3);
  const { data: graph } = await get(node, 'graph');
  t.deepEqual(graph.summary, { total_executions: 1, unique_nodes: 4, unique_edges: 3 });
  const nodes = new Set(graph.nodes.map(({ type, id }: Json) => `${type} ${id}`));
  for (const name of [
    `trigger ${trigger}`,
    `agent ${agent}`,
    'model openai.gpt-4.1-mini',
    'tool tool:weather',
  ]) {
    t.true(nodes.has(name), name);
  }
  t.deepEqual(
    graph.edges.find(({ source }: Json) => source === trigger),
    { source: trigger, target: agent, count: 1 },
  );
  const child = randomUUID();
  await tell(node, { agent_id: child, model: 'sim.child', first_model: 'sim.child', provider: 'sim' });
  const { data: wider } = await get(node, 'graph');
  const ids = new Set(wider.nodes.map(({ id }: Json) => id));
  for (const { source, target } of wider.edges)
    t.true(ids.has(source) && ids.has(target), `${source} ${target}`);
  t.true(ids.has(child), 'an agent without turns, as a sub-agent');
});

test('what sub-agents do is part of the paths, whatever their depth', async (t) => {
  const node = await shared.tenant(t);
  const { tenant_id: tenant, agent_id: agent } = node.bootstrap;
  const [execution, child, grandchild] = [randomUUID(), randomUUID(), randomUUID()];
  const owner = await ownerView(node.databaseUrl);
  await owner.query(
    `insert into executions (tenant_id, id, agent_id, slot, arrival, channel, status, outcome, due_at, input, created_at)
     values ($1, $2, $3, 0, 1, 'chat', 'completed', 'COMPLETED', now(), '{}', now())`,
    [tenant, execution, agent],
  );
  const now = Date.now();
  const times = (backMs: number, ms: number) => ({
    startedAt: new Date(now - backMs).toISOString(),
    finishedAt: new Date(now - backMs + ms).toISOString(),
  });
  const tool = { kind: 'tool', state: 'finished', number: 1 };
  const detail = {
    step: 'tool',
    agentId: child,
    steps: [
      { ...tool, name: 'weather', ...times(900, 100) },
      {
        ...tool,
        name: 'colleague',
        ...times(700, 300),
        agentId: grandchild,
        steps: [{ ...tool, name: 'sums', state: 'failed', ...times(600, 50) }],
      },
    ],
  };
  await owner.query(
    `insert into execution_steps (tenant_id, execution_id, number, kind, name, state, detail, started_at, finished_at)
     values ($1, $2, 2, 'tool', 'expert', 'finished', $3, $4, $5)`,
    [tenant, execution, detail, new Date(now - 1_000), new Date(now - 100)],
  );
  await owner.end();
  const made = { execution_id: execution, call_source: 'agent.tool-loop' };
  await tell(node, { ...made, agent_id: child, started_at: new Date(now - 800).toISOString() });
  const { data: loop } = await get(node, 'loopgraph');
  t.deepEqual(loop.edges.map(({ source, target }: Json) => `${source} ${target}`).toSorted(), [
    'agent.tool-loop tool:colleague',
    'tool:colleague tool:sums',
    'tool:expert tool:weather',
    'tool:weather agent.tool-loop',
  ]);
  t.like(
    loop.nodes.find((row: Json) => row.node === 'tool:sums'),
    { executions: 1, avg_latency_ms: 50, error_rate_pct: 100 },
  );
  for (const filter of ['', `?agent_id=${child}`, `?agent_id=${grandchild}`]) {
    const { data: graph } = await get(node, `graph${filter}`);
    const ids = new Set(graph.nodes.map(({ id }: Json) => id));
    for (const { source, target } of graph.edges)
      t.true(ids.has(source) && ids.has(target), `${filter} ${source} ${target}`);
    const edges = graph.edges.map(({ source, target }: Json) => `${source} ${target}`);
    t.true(
      edges.includes(
        `${filter.endsWith(grandchild) ? grandchild : child} tool:`.concat(
          filter.endsWith(grandchild) ? 'sums' : 'weather',
        ),
      ),
      edges.join(),
    );
    if (filter === '')
      t.deepEqual(edges.filter((edge: string) => edge.startsWith('tool:')).toSorted(), [
        `tool:colleague ${grandchild}`,
        `tool:expert ${child}`,
      ]);
  }
});

test('telemetry uses its own envelope and shows a tenant nothing of another', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant, api_key: key } = node.bootstrap;
  await tell(node, {});
  const refusal = async (path: string, credential: Json): Promise<string> => {
    const { status, json } = await node.client.call('GET', `/api/telemetry/${path}`, credential);
    return `${status} ${json.error.code}`;
  };
  t.is(await refusal('metrics', { token, tenant }), '400 TELEMETRY_MISSING_DATE_RANGE');
  for (const some of [
    'start_date=2026-11-01',
    'start_date=2026-11-01&end_date=',
    'end_date=soon',
    'status=bad',
    'startDate=2026-11-01&endDate=2026-11-02',
  ]) {
    t.is(await refusal(`metrics?${some}`, { token, tenant }), '400 TELEMETRY_MISSING_DATE_RANGE', some);
  }
  t.is(await refusal('logs', {}), '401 UNAUTHORIZED');
  t.is(await refusal('logs', { key }), '401 UNAUTHORIZED');
  t.is(await refusal('logs', { token: 'wrong', tenant }), '401 UNAUTHORIZED');
  t.is(await refusal('logs', { token, tenant: randomUUID() }), '404 TENANT_NOT_FOUND');
  t.is(await refusal('logs', { token }), '400 MISSING_REQUIRED_FIELD');
  for (const bad of [
    'logs?limit=0',
    'logs?page=x',
    'logs?order_by=cost',
    'logs?order_dir=up',
    'logs?status=maybe',
    'logs?agent_id=me',
    'logs?start_date=yesterday',
    'logs?end_date=2026-02-31',
    'dashboard?start_date=2026-11-02&end_date=2026-11-01',
    'usage-by-hour?hours=-1',
  ]) {
    t.is(await refusal(bad, { token, tenant }), '400 VALIDATION_ERROR', bad);
  }
  t.is((await get(node, 'logs?limit=1000')).pagination.limit, 100);
  t.is((await get(node, 'logs?limit=10000000000000000')).pagination.limit, 100, 'however large it is');
  t.is((await get(node, 'usage-by-hour?hours=1000')).data.length, 168);
  t.is((await get(node, 'logs')).total, 1);
  t.is((await get(node, 'logs?start_date=2999-01-01')).total, 0, 'nothing has happened there yet');
  t.is((await get(node, 'dashboard?start_date=2999-01-01')).data.summary.total_calls, 0);
  const health = await node.client.call('GET', '/api/telemetry/health');
  t.is(health.status, 200);
  t.is(health.json.endpoints.length, 10);
  const stranger = await makeTenant(node);
  const theirs = { token: stranger.users.admin.token, tenant: stranger.tenantId };
  t.is((await node.client.call('GET', '/api/telemetry/logs', theirs)).json.total, 0);
  const { json } = await node.client.call('GET', '/api/telemetry/dashboard', theirs);
  t.is(json.data.summary.total_calls, 0);
  const member = { token: stranger.users.member.token, tenant: stranger.tenantId };
  t.is(await refusal('logs', member), '403 INSUFFICIENT_PERMISSIONS');
});
