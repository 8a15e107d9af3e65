import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { openEvents, openSocket } from '../support/clients/sockets.js';
import { makeTenant } from '../support/builders/tenants.js';
import { servedTime } from '../support/clocks/served-time.js';

const shared = sharedNode(test);

const path = '/api/v1/realtime';

test("callers who may read sessions receive their tenant's events on every node", async (t) => {
  // Of its own: another node joins it.
  const first = await startTestNode(t);
  const second = await startTestNode(t, { databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  const own = await makeTenant(first);
  const other = await makeTenant(first);
  const member = await openSocket(`${second.client.baseUrl}${path}`, { 'x-api-key': own.keys.member });
  const editor = await openEvents(`${second.client.baseUrl}${path}/events`, {
    authorization: `Bearer ${own.users.editor.token}`,
    'x-tenant-id': own.tenantId,
  });
  const stranger = await openSocket(`${second.client.baseUrl}${path}`, { 'x-api-key': other.keys.owner });
  const deny = '/api/v1/consumers/%2B49171555/deny';
  const denyOf = async (key: string): Promise<number> =>
    (await first.client.call('POST', deny, { key, body: { reason: 'spam' } })).status;
  t.is(await denyOf(own.keys.admin), 200);
  await eventually(() => member.messages.length === 1 && editor.events().length === 1);
  const told = JSON.parse(member.messages[0] ?? '') as Record<string, unknown>;
  t.like(told, { type: 'consumer_denylist_changed', tenant_id: own.tenantId });
  t.like(told['data'], { consumer_key: '+49171555', blocked: true });
  t.false(JSON.stringify(told).includes('spam'), 'the reason is not for everybody');
  // The feed has one order: whatever the stranger hears of the change before comes before that of its own tenant.
  t.is(await denyOf(other.keys.admin), 200);
  await eventually(() => stranger.messages.some((message) => message.includes(other.tenantId)));
  t.deepEqual(
    stranger.messages.map((message) => (JSON.parse(message) as Record<string, unknown>)['tenant_id']),
    [other.tenantId],
  );
});

// Serial, so that no other test takes the time that is measured.
test.serial('a socket closes with 4401 within a second when its key is revoked', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant, api_key: kept } = node.bootstrap;
  const made = await node.client.call('POST', '/api/keys', { token, tenant, body: { name: 'short-lived' } });
  const socket = await openSocket(`${node.client.baseUrl}${path}`, { 'x-api-key': made.json.data.api_key });
  const other = await openSocket(`${node.client.baseUrl}${path}`, { 'x-api-key': kept });
  t.is((await node.client.call('DELETE', `/api/keys/${made.json.data.id}`, { token, tenant })).status, 200);
  const servedMs = servedTime(t);
  await eventually(() => socket.closedWith() !== undefined);
  t.true(servedMs() < 1_000);
  t.is(socket.closedWith(), 4401);
  const heard = other.messages.length;
  const deny = '/api/v1/consumers/%2B49171555/deny';
  t.is((await node.client.call('POST', deny, { key: kept, body: {} })).status, 200);
  await eventually(() => other.messages.length > heard, { what: 'an event for the other key' });
  t.is(other.closedWith(), undefined);
});

test('realtime events require a credential of the tenant', async (t) => {
  const node = await shared.tenant(t);
  const refused = async (headers: Record<string, string>) =>
    (await fetch(`${node.client.baseUrl}${path}`, { headers })).status;
  t.is(await refused({}), 401);
  t.is(await refused({ 'x-api-key': 'svc_live_nobody' }), 401);
  await t.throwsAsync(openSocket(`${node.client.baseUrl}${path}`));
  await t.throwsAsync(openEvents(`${node.client.baseUrl}${path}/events`), { message: /^401 / });
});
