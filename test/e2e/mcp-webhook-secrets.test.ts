// A webhook's secret never enters a model's context: it is in the vault together with its trigger, or neither is there.
import test from 'ava';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { tenantView } from '../support/database/owner-view.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('a trigger and the secret that the answer names come together, at its creation and at a rotation', async (t) => {
  const node = await shared.tenant(t);
  const { client: rest, bootstrap } = node;
  const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const client = await mcpClient(t, node.node.baseUrl, bootstrap.api_key);
  const body = { agent_id: bootstrap.agent_id, name: 'orders', trigger_type: 'webhook' };
  const made = await client.callTool({ name: 'create_trigger', arguments: body });
  const { data } = structured(made) as { data: Record<string, string> };
  const name = `webhook-${data['id']}`;
  t.is(data['webhook_secret_ref'], name);
  t.false(JSON.stringify(made).includes('whsec_'));
  const versionOf = async (): Promise<number | undefined> => {
    const { json } = await rest.call('GET', '/api/secrets', caller);
    return json.data.find((secret: { name: string }) => secret.name === name)?.version;
  };
  t.is(await versionOf(), 1);

  const rotated = await client.callTool({
    name: 'rotate_trigger_secret',
    arguments: { trigger_id: data['id'] ?? '' },
  });
  t.is((structured(rotated) as { data: Record<string, string> }).data['webhook_secret_ref'], name);
  t.false(JSON.stringify(rotated).includes('whsec_'));
  t.is(await versionOf(), 2);

  const schedule = { ...body, trigger_type: 'schedule', trigger_config: { cron: '0 0 1 1 *', message: 'x' } };
  const silent = structured(await client.callTool({ name: 'create_trigger', arguments: schedule }));
  const { id, webhook_secret_ref: none } = (silent as { data: Record<string, string> }).data;
  t.is(none, undefined);
  const changed = await client.callTool({
    name: 'update_trigger',
    arguments: {
      trigger_id: id ?? '',
      trigger_config: { execution: { callback: { url: 'https://receiver.example/answers' } } },
    },
  });
  t.is((structured(changed) as { data: Record<string, string> }).data['webhook_secret_ref'], `webhook-${id}`);
  t.false(JSON.stringify(changed).includes('whsec_'));

  const plain = await rest.call('POST', '/api/triggers', { ...caller, body });
  t.regex(plain.json.data.webhook_secret, /^whsec_/, 'REST answers with the secret itself');
  t.is(plain.json.data.webhook_secret_ref, undefined);
});

test('where the vault takes no more secrets, no trigger is made and no secret rotated', async (t) => {
  const node = await shared.tenant(t);
  const { client: rest, bootstrap } = node;
  const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const view = await tenantView(node);
  t.teardown(() => view.end());
  await view.query(
    `insert into secrets (tenant_id, id, name, kind, version, created_by)
     select $1, gen_random_uuid(), 'full-' || n, 'generic', 1, 'test' from generate_series(1, 1000) n`,
    [bootstrap.tenant_id],
  );
  const client = await mcpClient(t, node.node.baseUrl, bootstrap.api_key);
  const body = { agent_id: bootstrap.agent_id, name: 'orders', trigger_type: 'webhook' };
  const refused = await client.callTool({ name: 'create_trigger', arguments: body });
  t.true(refused.isError);
  t.regex(JSON.stringify(refused), /at most 1000 secrets/);
  t.is((await rest.call('GET', '/api/triggers', caller)).json.count, 0);

  const plain = await rest.call('POST', '/api/triggers', { ...caller, body });
  t.is(plain.status, 201, plain.text);
  const trigger = { trigger_id: plain.json.data.id };
  t.true((await client.callTool({ name: 'rotate_trigger_secret', arguments: trigger })).isError);
  const { rows } = await view.query('select former_secret_until from triggers where id = $1', [
    trigger.trigger_id,
  ]);
  t.deepEqual(rows, [{ former_secret_until: null }]);
});
