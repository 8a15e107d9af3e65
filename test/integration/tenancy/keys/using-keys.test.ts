// Requests with keys on one node and on several: acceptance, counts, limits and expiry.
import test from 'ava';
import type { Plan } from '../../../../src/kernel/caller.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import {
  changePlan,
  dataOf,
  itemsOf,
  type KeysNode,
  newKey,
  newKeyTenant,
  startKeysNode,
} from '../../../support/servers/keys-node.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let node: KeysNode;
/** Learns of changes by being told: the clock by which it would look for them stands still. */
let told: KeysNode;

test.serial.before(async () => {
  node = await startKeysNode(database.url);
  told = await startKeysNode(database.url, { feedTime: new ManualTime('2026-01-01T00:00:00Z') });
  database.atEnd(async () => {
    await told.close();
    await node.close();
  });
});

const newTenant = (plan?: Plan) => newKeyTenant(node, plan);

test("a lowered plan lowers its keys' rate at once, and a raised one restores it", async (t) => {
  const { scope, admin } = await newTenant();
  const { id, apiKey } = await newKey(node, scope, { rateLimitPerMinute: 700 });
  const limit = async () =>
    (await told.withKey(apiKey)('GET', '/api/quota')).headers.get('x-ratelimit-limit');
  t.is(await limit(), '700');
  await changePlan(node.store, scope, 'free');
  await eventually(async () => (await limit()) === '10', { what: 'the lowered rate' });
  const shown = dataOf(await admin('GET', `/api/keys/${id}`));
  t.is(shown['rate_limit_per_minute'], 10);
  t.is(shown['calculated_tier'], 'default');
  await changePlan(node.store, scope, 'enterprise');
  await eventually(async () => (await limit()) === '700', { what: 'the first rate' });
});

test('a key revoked on one node is refused by another as soon as that is told, also if it was cached', async (t) => {
  const other = told;
  const { scope, admin } = await newTenant();
  const { id, apiKey } = await newKey(node, scope);
  const ended: string[] = [];
  t.teardown(other.keys.onRevoked(({ keyId }) => void ended.push(keyId)));
  t.is((await other.withKey(apiKey)('GET', '/api/quota')).status, 200);
  t.is((await admin('DELETE', `/api/keys/${id}`)).status, 200);
  await eventually(async () => (await other.withKey(apiKey)('GET', '/api/quota')).status === 401, {
    what: 'the other node refuses',
  });
  await eventually(() => ended.includes(id), { what: 'the other node tells of it' });
});

test('an expired key reads expired, is refused, is reported, and can still be revoked', async (t) => {
  const { scope, admin } = await newTenant();
  const seconds = 5;
  const { id, apiKey } = await newKey(node, scope, { expiresInDays: seconds / 86_400 });
  const ended: string[] = [];
  t.teardown(node.keys.onRevoked(({ keyId }) => void ended.push(keyId)));
  await node.withKey(apiKey)('GET', '/api/quota');
  await eventually(() => ended.includes(id), { what: 'the end of the key is told' });
  const refused = await node.withKey(apiKey)('GET', '/api/quota');
  t.is(refused.status, 401);
  t.is(refused.body['error'], 'invalid_api_key');
  const detail = dataOf(await admin('GET', `/api/keys/${id}`));
  t.is(detail['status'], 'expired');
  t.true(Date.parse(String(detail['expires_at'])) <= Date.now());
  t.deepEqual(
    itemsOf(await admin('GET', '/api/keys')).map(({ status }) => status),
    ['expired'],
  );
  t.like(dataOf(await admin('GET', '/api/keys/stats')), { total: 1, active: 0, expired: 1, revoked: 0 });
  t.is((await admin('DELETE', `/api/keys/${id}`)).status, 200);
  t.like(dataOf(await admin('GET', '/api/keys/stats')), { total: 1, active: 0, expired: 0, revoked: 1 });
});

test('unknown, broken and malformed keys get the same refusal', async (t) => {
  const given = [
    `svc_live_${'0'.repeat(40)}`,
    'svc_live_',
    'svc_live_short',
    `svc_test_${'z'.repeat(40)}`,
    `svc_live_${'a'.repeat(2_000)}`,
    'something else',
  ];
  for (const apiKey of given) {
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const answer = await node.withKey(apiKey)('GET', '/api/quota');
      t.is(answer.status, 401, apiKey.slice(0, 60));
      t.is(answer.body['error'], 'invalid_api_key');
    }
  }
});

test('every request of a key is counted, including those that this node has not yet written', async (t) => {
  const { scope, admin } = await newTenant();
  const [first, second] = [await newKey(node, scope), await newKey(node, scope)];
  const before = itemsOf(await admin('GET', '/api/keys'));
  t.true(before.every(({ last_used_at: at }) => at === null));
  const startedAt = Date.now();
  await Promise.all(Array.from({ length: 6 }, () => node.withKey(first.apiKey)('GET', '/api/quota')));
  await node.withKey(second.apiKey)('GET', '/api/quota');
  t.is(dataOf(await admin('GET', `/api/keys/${first.id}`))['total_requests'], 6);
  t.is(dataOf(await admin('GET', '/api/keys/stats'))['total_requests'], 7);
  const after = itemsOf(await admin('GET', '/api/keys'));
  t.true(
    after.every(
      ({ last_used_at: at }) => Date.parse(String(at)) >= startedAt && Date.parse(String(at)) <= Date.now(),
    ),
  );
});

test("a key's window refuses with its own figures, and a second key of the tenant continues", async (t) => {
  const { scope } = await newTenant();
  const { apiKey } = await newKey(node, scope, { rateLimitPerMinute: 3 });
  const other = await newKey(node, scope, { rateLimitPerMinute: 3 });
  for (const left of ['2', '1', '0']) {
    const answer = await node.withKey(apiKey)('GET', '/api/quota');
    t.is(answer.status, 200);
    t.is(answer.headers.get('x-ratelimit-remaining'), left);
  }
  const refused = await node.withKey(apiKey)('GET', '/api/quota');
  t.is(refused.status, 429);
  t.is(refused.body['error'], 'rate_limit_exceeded');
  t.is(refused.headers.get('x-ratelimit-limit'), '3');
  t.is(refused.headers.get('x-ratelimit-remaining'), '0');
  const details = refused.body['details'] as Record<string, number>;
  t.is(details['limit'], 3);
  t.is(details['remaining'], 0);
  t.is(refused.headers.get('x-ratelimit-reset'), String(details['reset']));
  t.is(refused.headers.get('retry-after'), String(details['retry_after']));
  t.true((details['retry_after'] ?? 0) >= 1 && (details['retry_after'] ?? 99) <= 61);
  t.is((await node.withKey(other.apiKey)('GET', '/api/quota')).status, 200);
});

test("a request that names another tenant than its key's is refused and still counts for the key", async (t) => {
  const { scope, admin } = await newTenant();
  const { scope: other } = await newTenant();
  const { id, apiKey } = await newKey(node, scope, { rateLimitPerMinute: 2 });
  const naming = (tenant: string) =>
    node.call('GET', '/api/quota', { 'x-api-key': apiKey, 'x-tenant-id': tenant });
  const refused = await naming(other.tenantId);
  t.is(refused.status, 404);
  t.is(refused.body['error'], 'tenant_not_found');
  t.is(refused.headers.get('x-ratelimit-limit'), '2');
  t.is(refused.headers.get('x-ratelimit-remaining'), '1');
  t.is((await naming(scope.tenantId.toUpperCase())).status, 200);
  t.is((await naming(other.tenantId)).body['error'], 'rate_limit_exceeded');
  t.is(dataOf(await admin('GET', `/api/keys/${id}`))['total_requests'], 3);
});

test('a key quota ends after its model work, for good, and other requests continue', async (t) => {
  const { scope } = await newTenant();
  const { apiKey } = await newKey(node, scope, { quotaLimit: 3 });
  const call = node.withKey(apiKey);
  const answers = await Promise.all(Array.from({ length: 6 }, () => call('POST', '/work', {})));
  t.is(answers.filter(({ status }) => status === 200).length, 3);
  const refused = await call('POST', '/work', {});
  t.is(refused.status, 429);
  t.is(refused.body['error'], 'quota_exceeded');
  t.deepEqual(refused.body['details'], { limit: 3, used: 3, reset_date: null });
  t.is(refused.headers.get('retry-after'), '86400');
  t.is((await call('GET', '/api/quota')).status, 200);
  const restarted = await startKeysNode(database.url);
  t.teardown(() => restarted.close());
  t.is((await restarted.withKey(apiKey)('POST', '/work', {})).body['error'], 'quota_exceeded');
});

test('a member key cannot read the quota, and an editor key can', async (t) => {
  const { scope } = await newTenant();
  const member = await newKey(node, scope, { role: 'member' });
  const editor = await newKey(node, scope, { role: 'editor' });
  const refused = await node.withKey(member.apiKey)('GET', '/api/quota');
  t.is(refused.status, 403);
  t.is(refused.body['error'], 'insufficient_permissions');
  t.is((await node.withKey(editor.apiKey)('GET', '/api/quota')).status, 200);
});
