import test from 'ava';
import { startShop } from '../support/servers/databases.js';
import { startTestNode } from '../support/servers/node.js';

// A node for each test: they differ in a setting.
test.serial(
  'where loopback is allowed a tenant configures a local database, tests it and reads its schema',
  async (t) => {
    const { place } = await startShop(t);
    const { client, bootstrap, log } = await startTestNode(t);
    const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
    const connection = { ...place, password: place.password };
    const tried = await client.call('POST', '/api/db/test-postgres', { ...caller, body: connection });
    t.is(tried.status, 200, tried.text);
    t.true(tried.json.tested_table_accessible);
    const found = await client.call('POST', '/api/db/discover-postgres-schema', {
      ...caller,
      body: connection,
    });
    t.deepEqual(
      found.json.schemas.map(({ name }: { name: string }) => name),
      ['public', 'stock'],
    );
    const made = await client.call('POST', '/api/database-configs', {
      ...caller,
      body: { name: 'shop', provider: 'postgresql', connection_config: connection, is_primary: true },
    });
    t.is(made.status, 201, made.text);
    const at = `/api/database-configs/${made.json.data.id}`;
    const read = await client.call('POST', `${at}/refresh-schema`, caller);
    t.is(read.status, 200, read.text);
    t.false((await client.call('GET', `${at}/freshness`, caller)).json.needs_refresh);
    const deleted = await client.call('DELETE', at, caller);
    t.deepEqual([deleted.status, deleted.json.success], [200, true]);
    if (place.password.length > 8) t.false(log().includes(place.password));
  },
);

test.serial('where loopback is not allowed a local database is refused', async (t) => {
  const { place } = await startShop(t);
  const { client, bootstrap } = await startTestNode(t, { environment: { TROUPE_EGRESS_ALLOW: '' } });
  const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  for (const host of ['127.0.0.1', 'localhost', '::1', '0x7f.1']) {
    const body = { ...place, host };
    const tried = await client.call('POST', '/api/db/test-postgres', { ...caller, body });
    t.is(tried.status, 502, tried.text);
    t.is(tried.json.error, 'provider_error');
    t.regex(tried.json.details.original_error, /may not be reached from here/);
    const made = await client.call('POST', '/api/database-configs', {
      ...caller,
      body: { name: 'inside', connection_config: body },
    });
    t.is(made.status, 400, made.text);
    t.is(made.json.details.field, 'connection_config.host');
  }
});
