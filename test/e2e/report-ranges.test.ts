import test from 'ava';
import { ask } from '../support/clients/direct-calls.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

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
