// Creating keys over HTTP: the permitted fields for each role.
import test from 'ava';
import type { Plan, Role } from '../../../../src/kernel/caller.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  dataOf,
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

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const newTenant = (plan?: Plan) => newKeyTenant(node, plan);

test("a key is created with the plan's defaults, shown whole once, and works", async (t) => {
  const { admin } = await newTenant('pro');
  const answer = await admin('POST', '/api/keys', { name: 'first' });
  t.is(answer.status, 201);
  t.deepEqual(Object.keys(answer.body).sort(), ['data', 'success', 'warning']);
  const key = dataOf(answer);
  t.deepEqual(Object.keys(key).sort(), [
    'api_key',
    'calculated_tier',
    'expires_at',
    'id',
    'name',
    'prefix',
    'rate_limit_per_minute',
    'role',
    'suffix',
  ]);
  const apiKey = String(key['api_key']);
  t.regex(String(key['id']), uuid);
  t.true(apiKey.startsWith('svc_live_'));
  t.regex(String(key['suffix']), /^\.\.\.[0-9a-z]{3}$/);
  t.true(apiKey.endsWith(String(key['suffix']).slice(3)));
  t.like(key, {
    prefix: 'svc_live_',
    name: 'first',
    role: 'admin',
    rate_limit_per_minute: 200,
    calculated_tier: 'premium',
    expires_at: null,
  });
  const used = await node.withKey(apiKey)('GET', '/api/quota');
  t.is(used.status, 200);
  t.is(used.headers.get('x-ratelimit-limit'), '200');
  t.is(used.headers.get('x-ratelimit-remaining'), '199');
});

test('a key is stored only as a hash, and no answer but the first shows it', async (t) => {
  const { scope, admin } = await newTenant();
  const { id, apiKey } = await newKey(node, scope);
  const secret = apiKey.slice('svc_live_'.length);
  const answers = await Promise.all([
    admin('GET', '/api/keys'),
    admin('GET', `/api/keys/${id}`),
    admin('PATCH', `/api/keys/${id}/rpm`, { rateLimitPerMinute: 5 }),
    admin('GET', '/api/keys/stats'),
  ]);
  t.false(JSON.stringify(answers).includes(secret));
  const rows = await node.store.inTenant(scope, async (tx) => {
    return [
      await tx.any(sql.unsafe`select row_to_json(k)::text as row from api_keys k`),
      await tx.any(sql.unsafe`select row_to_json(a)::text as row from audit_entries a`),
    ];
  });
  t.true(rows.flat().length >= 3);
  t.false(JSON.stringify(rows).includes(secret));
});

const prefixes = ['svc_live_', 'svc_test_', 'svc_dev_'];
for (const prefix of prefixes) {
  test(`a key with the prefix ${prefix} works as X-Api-Key and as a bearer token`, async (t) => {
    const { scope } = await newTenant();
    const { apiKey } = await newKey(node, scope, { prefix });
    t.true(apiKey.startsWith(prefix));
    t.is((await node.withKey(apiKey)('GET', '/api/quota')).status, 200);
    t.is((await node.call('GET', '/api/quota', { authorization: `Bearer ${apiKey}` })).status, 200);
  });
}

const wrong: readonly (readonly [string, Record<string, unknown>])[] = [
  ['no name', { name: undefined }],
  ['an empty name', { name: '  ' }],
  ['a name that is no text', { name: 5 }],
  ['an unknown prefix', { prefix: 'sk_live_' }],
  ['an unknown role', { role: 'root' }],
  ['a role of owner', { role: 'owner' }],
  ['a rate of zero', { rateLimitPerMinute: 0 }],
  ['a rate below zero', { rateLimitPerMinute: -1 }],
  ['a broken rate', { rateLimitPerMinute: 1.5 }],
  ['a rate as text', { rateLimitPerMinute: '10' }],
  ['a quota of zero', { quotaLimit: 0 }],
  ['a broken quota', { quotaLimit: 2.5 }],
  ['a negative expiry', { expiresInDays: -1 }],
  ['an expiry of zero', { expiresInDays: 0 }],
  ['an expiry beyond all calendars', { expiresInDays: 1e300 }],
];
test('an invalid request is refused with invalid_input, and no key is created', async (t) => {
  const { admin } = await newTenant();
  for (const [what, wish] of wrong) {
    const answer = await admin('POST', '/api/keys', { name: 'a key', ...wish });
    t.is(answer.status, 400, what);
    t.is(answer.body['error'], 'invalid_input', what);
    t.is(answer.body['status'], 'error', what);
  }
  t.is((await admin('GET', '/api/keys')).body['count'], 0);
});

const outcomes: Readonly<Record<Role, Readonly<Record<string, string>>>> = {
  owner: { owner: 'invalid_input', admin: 'made', editor: 'made', member: 'made', nothing: 'made' },
  admin: { owner: 'invalid_input', admin: 'made', editor: 'made', member: 'made', nothing: 'made' },
  editor: {
    owner: 'invalid_input',
    admin: 'ROLE_ESCALATION_DENIED',
    editor: 'made',
    member: 'made',
    nothing: 'ROLE_ESCALATION_DENIED',
  },
  member: {
    owner: 'invalid_input',
    admin: 'forbidden',
    editor: 'forbidden',
    member: 'forbidden',
    nothing: 'forbidden',
  },
};
const statusOf: Readonly<Record<string, number>> = { made: 201, invalid_input: 400 };
for (const [caller, byRole] of Object.entries(outcomes)) {
  test(`a caller of role ${caller} can create keys only of the allowed roles`, async (t) => {
    const { scope } = await newTenant();
    for (const [role, outcome] of Object.entries(byRole)) {
      const answer = await node.asUser(scope, caller as Role)('POST', '/api/keys', {
        name: 'a key',
        role: role === 'nothing' ? undefined : role,
      });
      t.is(answer.body['error'] ?? 'made', outcome, `${caller} asks for ${role}`);
      t.is(answer.status, statusOf[outcome] ?? 403, `${caller} asks for ${role}`);
    }
  });
}
