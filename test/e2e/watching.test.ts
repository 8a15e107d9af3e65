// Dashboards and alerts ask for metrics by name; nothing else would notice that a metric was renamed.
import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { operatorToken } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

function namesIn(file: string): readonly string[] {
  const named = readFileSync(file, 'utf8').match(/\btroupe_[a-z0-9_]+/g) ?? [];
  return named.map((name) => name.replace(/_(?:bucket|count|sum)$/, ''));
}

test('a node has every metric that a dashboard or an alert asks for', async (t) => {
  const { client } = await shared.tenant(t);
  const { text } = await client.call('GET', '/metrics', { token: operatorToken });
  const had = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''));
  const dashboards = readdirSync('deploy/grafana').map((name) => `deploy/grafana/${name}`);
  for (const file of [...dashboards, 'deploy/prometheus/alerts.yaml']) {
    const missing = namesIn(file).filter((name) => !had.has(name));
    t.deepEqual([...new Set(missing)], [], file);
  }
});
