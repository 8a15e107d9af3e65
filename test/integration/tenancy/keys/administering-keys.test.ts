// Listing, showing, changing and revoking keys over HTTP.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { sql } from '../../../../src/infra/storage/index.js';
import { type TenantScope, tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { forgetKeys, namesOfKeys } from '../../../../src/tenancy/keys/index.js';
import type { Plan } from '../../../../src/kernel/caller.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  type Answer,
  dataOf,
  idOfUser,
  itemsOf,
  type KeysNode,
  newKey,
  newKeyTenant,
  startKeysNode,
} from '../../../support/servers/keys-node.js';

const database = databaseOfFile(test);
let node: KeysNode;

test.serial.before(async () => {
  node = await startKeysNode(database.url);
  database.atEnd(() => node.close());
});

const newTenant = (plan?: Plan) => newKeyTenant(node, plan);

test('only owner and admin revoke a key or change its rate; a member may not read keys', async (t) => {
  const { scope } = await newTenant();
  const { id } = await newKey(node, scope);
  const requests: readonly (readonly [string, string, unknown?])[] = [
    ['GET', '/api/keys'],
    ['GET', '/api/keys/stats'],
    ['GET', `/api/keys/${id}`],
    ['PATCH', `/api/keys/${id}/rpm`, { rateLimitPerMinute: 5 }],
    ['DELETE', `/api/keys/${id}`],
  ];
  const allowed: Readonly<Record<string, number>> = { owner: 5, admin: 4, editor: 3, member: 0 };
  for (const role of ['member', 'editor', 'admin', 'owner'] as const) {
    for (const [index, [method, path, body]] of requests.entries()) {
      if (role === 'admin' && index === 4) continue;
      const answer = await node.asUser(scope, role)(method, path, body);
      const expected = index < (allowed[role] ?? 0) ? 200 : 403;
      t.is(answer.status, expected, `${role}: ${method} ${path}`);
      if (expected === 403) t.is(answer.body['error'], 'forbidden');
    }
  }
});

test('key endpoints require a signed-in user and the tenant header', async (t) => {
  const { scope } = await newTenant();
  const { apiKey } = await newKey(node, scope);
  const byKey = await node.withKey(apiKey)('GET', '/api/keys');
  t.is(byKey.status, 401);
  t.is(byKey.body['error'], 'authentication_required');
  t.is((await node.call('GET', '/api/keys', {})).body['error'], 'authentication_required');
  const noTenant = await node.call('GET', '/api/keys', { authorization: 'Bearer admin:someone' });
  t.is(noTenant.status, 400);
  t.is(noTenant.body['error'], 'missing_required_field');
});

test('a change of fields that cannot be set is refused, and a key that was read can be sent back', async (t) => {
  const { scope } = await newTenant();
  const { id } = await newKey(node, scope);
  const admin = node.asUser(scope, 'admin');
  for (const body of [{ name: 'other' }, { role: 'editor', status: 'active' }]) {
    const refused = await admin('PATCH', `/api/keys/${id}`, body);
    t.is(`${refused.status} ${String(refused.body['error'])}`, '400 invalid_input');
    t.regex(String(refused.body['message']), /^(name|role) cannot be changed by this request\. Known here: /);
  }
  const { data } = (await admin('GET', `/api/keys/${id}`)).body as { data: Record<string, unknown> };
  const { allowed_models, allowed_ips, budget, origins, agent_ids, ...rest } = data;
  const sent = await admin('PATCH', `/api/keys/${id}`, { ...rest, budget, description: 'for the shop' });
  t.is(sent.status, 200, JSON.stringify([sent.body, allowed_models, allowed_ips, origins, agent_ids]));
  t.is((await admin('PATCH', `/api/keys/${id}`, {})).status, 200);
});

test('a rate above the plan is refused, on creation and later', async (t) => {
  const { scope, admin } = await newTenant('basic');
  const { id } = await newKey(node, scope, { rateLimitPerMinute: 50 });
  for (const rateLimitPerMinute of [51, 1_000_000_001, Number.MAX_SAFE_INTEGER]) {
    const refused = await admin('POST', '/api/keys', { name: 'a key', rateLimitPerMinute });
    t.is(refused.status, 403);
    t.is(refused.body['error'], 'plan_limit_exceeded');
    const later = await admin('PATCH', `/api/keys/${id}/rpm`, { rateLimitPerMinute });
    t.is(later.status, 403);
    t.is(later.body['error'], 'plan_limit_exceeded');
  }
  t.is((await admin('GET', `/api/keys/${id}`)).status, 200);
  t.is(dataOf(await admin('GET', `/api/keys/${id}`))['rate_limit_per_minute'], 50);
});

test('a changed rate names both figures and the tier, and applies to the next request', async (t) => {
  const { scope, admin } = await newTenant();
  const { id, apiKey } = await newKey(node, scope, { rateLimitPerMinute: 500 });
  t.is((await node.withKey(apiKey)('GET', '/api/quota')).headers.get('x-ratelimit-limit'), '500');
  const answer = await admin('PATCH', `/api/keys/${id}/rpm`, { rateLimitPerMinute: 20 });
  t.deepEqual(answer.body, {
    success: true,
    data: { key_id: id, old_rpm: 500, new_rpm: 20, calculated_tier: 'basic' },
  });
  const used = await node.withKey(apiKey)('GET', '/api/quota');
  t.is(used.headers.get('x-ratelimit-limit'), '20');
  t.is(used.headers.get('x-ratelimit-remaining'), '18');
});

test('the list contains every key with exactly the specified fields, newest first', async (t) => {
  const { scope, admin } = await newTenant();
  const names = ['one', 'two', 'three'];
  for (const name of names) await newKey(node, scope, { name });
  const answer = await admin('GET', '/api/keys');
  t.deepEqual(Object.keys(answer.body).sort(), ['count', 'data', 'success']);
  t.is(answer.body['count'], 3);
  const keys = itemsOf(answer);
  t.deepEqual(
    keys.map(({ name }) => name),
    names.toReversed(),
  );
  t.deepEqual(Object.keys(keys[0] ?? {}).sort(), [
    'created_by',
    'id',
    'last_used_at',
    'name',
    'prefix',
    'rate_limit_per_minute',
    'role',
    'status',
    'suffix',
  ]);
});

test('a list in pages contains every key once, and refuses foreign cursors', async (t) => {
  const { scope, admin } = await newTenant();
  const made = await Promise.all(Array.from({ length: 7 }, () => newKey(node, scope)));
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 4; page += 1) {
    const query: string = cursor === null ? '?limit=3' : `?limit=3&cursor=${cursor}`;
    const answer: Answer = await admin('GET', `/api/keys${query}`);
    seen.push(...itemsOf(answer).map(({ id }) => String(id)));
    cursor = answer.body['next_cursor'] as string | null;
    if (cursor === null) break;
  }
  t.is(seen.length, 7);
  t.deepEqual(seen.toSorted(), made.map(({ id }) => id).toSorted());
  for (const query of ['cursor=nonsense', 'limit=0', 'limit=-1', 'limit=x', 'cursor=WzEsMl0']) {
    const answer = await admin('GET', `/api/keys?${query}`);
    t.is(answer.status, 400, query);
    t.is(answer.body['error'], 'invalid_input', query);
  }
  t.regex(String((await admin('GET', '/api/keys?limit=-1')).body['message']), /at least 1/);
});

test('a key shows its detail with its tenant, and unknown and foreign ids get 404', async (t) => {
  const { scope, admin } = await newTenant();
  const { id, suffix } = await newKey(node, scope, { name: 'mine', role: 'editor', rateLimitPerMinute: 40 });
  const answer = await admin('GET', `/api/keys/${id}`);
  t.deepEqual(answer.body, {
    success: true,
    data: {
      id,
      name: 'mine',
      prefix: 'svc_live_',
      suffix,
      status: 'active',
      role: 'editor',
      rate_limit_per_minute: 40,
      description: null,
      quotaLimit: null,
      created_by: { id: idOfUser('admin:someone'), name: 'admin:someone' },
      calculated_tier: 'basic',
      expires_at: null,
      last_used_at: null,
      total_requests: 0,
      tenant: { id: scope.tenantId, name: 'Troupers' },
    },
  });
  const bounded = await newKey(node, scope, { quotaLimit: 9 });
  t.like((await admin('GET', `/api/keys/${bounded.id}`)).body, { data: { quotaLimit: 9 } });
  const stranger = (await newTenant()).admin;
  for (const [asked, ask] of [
    [id, stranger],
    [randomUUID(), admin],
    ['not-an-id', admin],
  ] as const) {
    for (const [method, path, body] of [
      ['GET', `/api/keys/${asked}`, undefined],
      ['PATCH', `/api/keys/${asked}/rpm`, { rateLimitPerMinute: 5 }],
      ['DELETE', `/api/keys/${asked}`, undefined],
    ] as const) {
      const refused = await ask(method, path, body);
      t.is(refused.status, 404, `${method} ${path}`);
      t.is(refused.body['error'], 'not_found');
    }
  }
  t.is((await admin('GET', `/api/keys/${id}`)).status, 200);
});

test('a revoked key is refused at once, stays revoked, and cannot be revoked or changed again', async (t) => {
  const { scope, admin } = await newTenant();
  const { id, apiKey } = await newKey(node, scope);
  const ended: string[] = [];
  t.teardown(node.keys.onRevoked(({ keyId }) => void ended.push(keyId)));
  t.is((await node.withKey(apiKey)('GET', '/api/quota')).status, 200);
  const answer = await admin('DELETE', `/api/keys/${id}`);
  t.is(answer.status, 200);
  t.deepEqual(Object.keys(answer.body).sort(), ['message', 'revoked_at', 'success']);
  t.true(Math.abs(Date.parse(String(answer.body['revoked_at'])) - Date.now()) < 60_000);
  const refused = await node.withKey(apiKey)('GET', '/api/quota');
  t.is(refused.status, 401);
  t.is(refused.body['error'], 'invalid_api_key');
  t.is(refused.headers.get('x-ratelimit-limit'), '120');
  t.is(ended.filter((one) => one === id).length, 1, 'whoever holds a stream of this key was told');
  const again = await admin('DELETE', `/api/keys/${id}`);
  t.is(again.status, 400);
  t.is(again.body['error'], 'revocation_failed');
  for (const [path, change] of [
    [`/api/keys/${id}/rpm`, { rateLimitPerMinute: 5 }],
    [`/api/keys/${id}`, { description: 'changed' }],
  ] as const) {
    const unchanged = await admin('PATCH', path, change);
    t.is(unchanged.status, 400);
    t.deepEqual(unchanged.body['details'], { field: 'keyId', issue: 'is revoked' });
  }
  t.is(dataOf(await admin('GET', `/api/keys/${id}`))['status'], 'revoked');
});

test('of many concurrent revocations of one key exactly one succeeds, and the others get an error', async (t) => {
  const { scope, admin } = await newTenant();
  const { id } = await newKey(node, scope);
  const answers = await Promise.all(Array.from({ length: 8 }, () => admin('DELETE', `/api/keys/${id}`)));
  t.deepEqual(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [200, ...Array<number>(7).fill(400)],
  );
});

/** Adds keys that were revoked so many days ago, and used so often. */
function insertRevoked(
  { tenantId }: TenantScope,
  keys: {
    readonly count: number;
    readonly name: string;
    readonly daysAgo: number;
    readonly requests?: number;
    readonly models?: readonly string[];
  },
): Promise<readonly string[]> {
  const { count, name, daysAgo, requests = 0, models = [] } = keys;
  return node.store.inTenant(tenantScope(tenantId), async (tx) => {
    const rows = await tx.any(
      sql.type(z.object({ id: z.uuid() }))`
        with made as (
          insert into api_keys (tenant_id, id, hash, prefix, suffix, name, role, rate_limit_per_minute, created_by,
            created_at, revoked_at, allowed_models)
          select ${tenantId}, gen_random_uuid(), sha256((${`${tenantId} ${name}`} || n)::bytea), 'svc_live_', 'abcd',
            ${name}, 'member', 60, 'system', date_trunc('milliseconds', now()) - n * interval '1 ms',
            now() - ${daysAgo} * interval '1 day', ${sql.array([...models], 'text')}
          from generate_series(1, ${count}::integer) as n returning id
        ), used as (
          insert into api_key_use (tenant_id, key_id, total_requests) select ${tenantId}, id, ${requests} from made
        )
        select id from made`,
    );
    return rows.map(({ id }) => id);
  });
}

test('a list of all keys ends early when there are too many, with a cursor', async (t) => {
  const { scope, admin } = await newTenant();
  await insertRevoked(scope, { count: 14_000, name: 'old', daysAgo: 0 });
  const { id } = await newKey(node, scope);
  const all = await admin('GET', '/api/keys');
  t.is(all.status, 200);
  t.true(Number(all.body['count']) >= 10_000);
  t.is(itemsOf(all)[0]?.['id'], id, 'newest first');
  const found = itemsOf(all);
  for (let cursor = String(all.body['next_cursor']); cursor !== 'null';) {
    t.true(found.length < 14_001);
    const page = await admin('GET', `/api/keys?limit=100&cursor=${cursor}`);
    t.is(page.status, 200);
    found.push(...itemsOf(page));
    cursor = String(page.body['next_cursor']);
  }
  t.is(found.length, 14_001);
  t.is(new Set(found.map((key) => key['id'])).size, 14_001);
});

test('a list of keys ends early when their limits are large, and holds one at least', async (t) => {
  const { scope, admin } = await newTenant();
  const models = Array.from({ length: 100 }, (_, index) => `${'m'.repeat(190)}${index}`);
  await insertRevoked(scope, { count: 1_000, name: 'large', daysAgo: 0, models });
  const found: unknown[] = [];
  let pages = 0;
  for (let cursor = ''; cursor !== 'null'; pages += 1) {
    const page = await admin('GET', `/api/keys${cursor === '' ? '' : `?limit=100&cursor=${cursor}`}`);
    t.is(page.status, 200);
    t.true(itemsOf(page).length > 0);
    t.true(JSON.stringify(page.body).length < 9_000_000);
    found.push(...itemsOf(page).map((key) => key['id']));
    cursor = String(page.body['next_cursor']);
  }
  t.is(new Set(found).size, 1_000);
  t.is(found.length, 1_000);
  t.true(pages > 1);
});

test('keys that were revoked long ago are removed; of those that were used the name stays', async (t) => {
  const [{ scope, admin }, other] = [await newTenant(), await newTenant()];
  const old = { count: 3, daysAgo: 401 };
  const used = await insertRevoked(scope, { ...old, name: 'used', requests: 7 });
  const unused = await insertRevoked(scope, { ...old, name: 'unused' });
  const [young = ''] = await insertRevoked(scope, { count: 1, name: 'young', daysAgo: 399 });
  await insertRevoked(other.scope, { ...old, name: 'of another tenant' });
  const { id: active } = await newKey(node, scope);
  const before = new Date(Date.now() - 400 * 86_400_000);
  const forget = () => node.store.inTenant(tenantScope(scope.tenantId), (tx) => forgetKeys(tx, before, 4));
  t.deepEqual([await forget(), await forget(), await forget()], [4, 2, 0]);
  const left = itemsOf(await admin('GET', '/api/keys')).map((key) => key['id']);
  t.deepEqual(new Set(left), new Set([active, young]));
  t.is(itemsOf(await other.admin('GET', '/api/keys')).length, 3);
  const names = await node.store.inTenant(tenantScope(scope.tenantId), (tx) =>
    namesOfKeys(tx, [...used, ...unused, active]),
  );
  t.deepEqual(
    [...used, ...unused, active].map((key) => names.get(key)),
    ['used', 'used', 'used', undefined, undefined, undefined, 'a key'],
  );
  t.is((await admin('GET', `/api/keys/${used[0]}`)).status, 404);
});
