// Dashboards and alerts ask for metrics by name; nothing else would notice that a metric was renamed, or counts nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'ava';
import { ask, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { ReadMetrics } from '../support/clients/metrics.js';
import { eventually } from '../support/clocks/eventually.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';
const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

/** A node without others has no links, and no series of them. */
const betweenNodes = new Set(['troupe_runtime_link_queued_bytes']);

function namesIn(file: string): readonly string[] {
  const named = readFileSync(file, 'utf8').match(/\btroupe_[a-z0-9_]+/g) ?? [];
  // A name that ends in `_` stands for all that begin with it.
  return named
    .filter((name) => !name.endsWith('_'))
    .map((name) => name.replace(/_(?:bucket|count|sum)$/, ''));
}

test.serial('a node has every metric that a dashboard, an alert or a page asks for', async (t) => {
  const { client } = await shared.tenant(t);
  const { names } = await ReadMetrics.of(client);
  const filesIn = (folder: string): readonly string[] =>
    readdirSync(folder).map((name) => `${folder}/${name}`);
  const files = [
    ...filesIn('deploy/grafana'),
    ...filesIn('docs/runbooks'),
    'deploy/prometheus/alerts.yaml',
    'deploy/helm/troupe/templates/autoscaler.yaml',
    'docs/guides/watch-a-cluster.md',
  ];
  for (const file of files) {
    const missing = namesIn(file).filter((name) => !names.has(name) && !betweenNodes.has(name));
    t.deepEqual([...new Set(missing)], [], file);
  }
});

test.serial('the guide lists every metric of a node as the node describes it', async (t) => {
  const { client } = await shared.tenant(t);
  const { text } = await ReadMetrics.of(client);
  const guide = readFileSync('docs/guides/watch-a-cluster.md', 'utf8');
  const rows = new Map(
    [...guide.matchAll(/^\| `(troupe_\w+)` \| (\w+) \| [^|]* \| (.*) \|$/gm)].map(
      ([, name = '', type, help]) => [name, `${type} ${help}`],
    ),
  );
  const helps = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help]) => [name, help]),
  );
  const told = [...text.matchAll(/^# TYPE (troupe_\w+) (\w+)$/gm)]
    .filter(([, name = '']) => !/^troupe_(?:process|nodejs)_/.test(name))
    .map(([, name = '', type]): [string, string] => [name, `${type} ${helps.get(name)}`]);
  t.deepEqual(Object.fromEntries(rows), Object.fromEntries(told));
});

test.serial('without a receiver of telemetry, nothing of the SDK is loaded', (t) => {
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  t.true(loaded.some((path) => path.includes('@opentelemetry/api/')));
  t.deepEqual(
    loaded.filter((path) => /@opentelemetry\/(?:sdk|otlp|core|resources)/.test(path)),
    [],
  );
});

test.serial(
  'model calls are counted by model and by tenant: tokens, cost, failures, the cache',
  async (t) => {
    const node = await shared.tenant(t);
    const { client, bootstrap } = node;
    const tenant = bootstrap.tenant_id;
    const before = await ReadMetrics.of(client);
    const answered = await ask(node, { model, query: 'Count this' });
    t.is(answered.status, 200, answered.text);
    server.script({ status: 400, message: 'no' });
    t.true((await ask(node, { model, query: 'And this' })).status >= 400);
    for (let time = 0; time < 2; time += 1)
      t.is((await ask(node, { model, query: 'Twice the same', cache: true })).status, 200);

    const after = await ReadMetrics.of(client);
    const grown = (name: string, labels: Readonly<Record<string, string>>): number =>
      after.value(name, labels) - before.value(name, labels);
    const provider = 'openai';
    t.is(grown('troupe_llm_calls_total', { provider, model, outcome: 'completed' }), 2);
    t.is(grown('troupe_llm_calls_total', { provider, model, outcome: 'failed' }), 1);
    t.is(grown('troupe_llm_calls_total', { provider, model, outcome: 'cached' }), 1);
    t.is(grown('troupe_llm_attempts_total', { provider, outcome: 'completed' }), 2);
    t.is(grown('troupe_llm_vendor_errors_total', { provider, kind: 'request' }), 1);
    t.deepEqual(
      ['hit', 'miss'].map((result) => grown('troupe_llm_response_cache_total', { result })),
      [1, 1],
    );
    t.is(grown('troupe_llm_call_duration_seconds_count', { provider, model }), 3);
    // The ledger and the metrics tell the same.
    const path = '/api/billing/usage?group_by=model';
    const usage = await client.call('GET', path, { key: bootstrap.api_key });
    const [row] = usage.json.data.groups;
    const inputs = ['input', 'cache_read', 'cache_write'];
    const outputs = ['output', 'reasoning'];
    const tokens = (kinds: readonly string[]): number =>
      kinds.reduce((sum, kind) => sum + after.value('troupe_tenant_llm_tokens_total', { tenant, kind }), 0);
    t.is(tokens(inputs), row.input_tokens);
    t.is(tokens(outputs), row.output_tokens);
    t.true(row.cost > 0);
    t.true(Math.abs(after.value('troupe_tenant_llm_cost_usd_total', { tenant }) - row.cost) < 1e-9);
    t.is(after.value('troupe_tenant_llm_calls_total', { tenant }), 4);
  },
);

test.serial('a vendor that fails opens its breaker, which is counted and shown', async (t) => {
  const node = await shared.tenant(t);
  const provider = 'openai';
  const before = await ReadMetrics.of(node.client);
  // A refused key opens the breaker at once.
  server.keys.add('sk-another-key-of-this-vendor');
  t.true((await ask(node, { model, query: 'Is the key good?' })).status >= 400);
  const after = await ReadMetrics.of(node.client);
  server.keys.clear();
  const moves = { provider, state: 'open' };
  const name = 'troupe_llm_breaker_transitions_total';
  t.is(after.value(name, moves) - before.value(name, moves), 1);
  t.is(after.value('troupe_llm_breakers_open', { provider }), 1);
  t.is(after.value('troupe_llm_vendor_errors_total', { provider, kind: 'credential' }), 1);
});

test.serial('turns and refusals are counted by tenant', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { tenant_id: tenant, agent_id: agent, api_key: key, access_token: token } = bootstrap;
  const before = await ReadMetrics.of(client);
  const stream = await client.call('POST', `/api/v2/agents/${agent}/stream`, {
    key,
    body: { message: 'Hello' },
  });
  t.regex(stream.text, /"outcome":"COMPLETED"/);
  const body = { name: 'slow', rateLimitPerMinute: 1 };
  const made = await client.call('POST', '/api/keys', { token, tenant, body });
  t.is(made.status, 201, made.text);
  const slow = { key: String(made.json.data.api_key) };
  const statuses = [];
  for (let time = 0; time < 4; time += 1)
    statuses.push((await client.call('GET', '/api/v1/sessions', slow)).status);
  const refused = statuses.filter((status) => status === 429).length;
  t.true(refused > 0, statuses.join());

  const after = await eventually(async () => {
    const read = await ReadMetrics.of(client);
    return read.value('troupe_tenant_turns_total', { tenant, outcome: 'COMPLETED' }) === 1 ? read : undefined;
  });
  t.is(after.value('troupe_tenant_quota_refusals_total', { tenant, reason: 'rate_key' }), refused);
  for (const [name, labels] of [
    ['troupe_turns_started_total', { begin: 'first' }],
    ['troupe_turns_ended_total', { outcome: 'COMPLETED' }],
    ['troupe_turns_duration_seconds_count', { outcome: 'COMPLETED' }],
    ['troupe_turns_first_event_seconds_count', {}],
    ['troupe_turns_first_token_seconds_count', {}],
  ] as const) {
    t.is(after.value(name, labels) - before.value(name, labels), 1, name);
  }
  t.is(after.value('troupe_turns_running'), 0);
});
