import test from 'ava';
import { ask } from '../support/clients/direct-calls.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

const reports = ['metrics', 'logs', 'sessions', 'dashboard', 'cache', 'loopgraph', 'graph'];
const lists = [
  '/api/v1/audit',
  '/api/v1/executions',
  '/api/v1/sessions',
  '/api/v1/exports/calls',
  '/api/billing/usage',
];

test('the first and the last day of the calendar bound every report, list and export', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  await ask(node, { model: 'sim.echo' });
  for (const path of [...reports.map((name) => `/api/telemetry/${name}`), ...lists]) {
    const at = `${path}?start_date=0000-01-01&end_date=9999-12-31`;
    const { status, text } = await node.client.call('GET', at, { token, tenant });
    t.is(status, 200, `${at}: ${text}`);
  }
  const all = await node.client.call('GET', '/api/telemetry/logs?start_date=0000-01-01&end_date=9999-12-31', {
    token,
    tenant,
  });
  t.is(all.json.total, 1);
});

test('an hour as usage-by-hour writes it begins a report', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  await ask(node, { model: 'sim.echo' });
  const get = (path: string) => node.client.call('GET', `/api/telemetry/${path}`, { token, tenant });
  const { json: hours } = await get('usage-by-hour?hours=2');
  const logs = await get(`logs?start_date=${encodeURIComponent(hours.data[0].hour)}`);
  t.is(logs.status, 200, logs.text);
  t.is(logs.json.total, 1);
});
