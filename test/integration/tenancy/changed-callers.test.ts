// Changes of members, keys and invitations by callers whose access ended, or was lowered, after they were authenticated.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { systemTime } from '../../../cluster/index.js';
import type { Role, TenantCaller } from '../../../src/kernel/caller.js';
import { invoke, type Operation } from '../../../src/http/operations/index.js';
import { createMail } from '../../../src/infra/mail/index.js';
import { openHotReads, sql } from '../../../src/infra/storage/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { createInvites } from '../../../src/tenancy/invites/index.js';
import { createKeys, type Keys } from '../../../src/tenancy/keys/index.js';
import { addMember, type Person, registerPerson } from '../../support/builders/people.js';
import { logTo, platformOf } from '../../support/builders/platform.js';
import { eventually } from '../../support/clocks/eventually.js';
import { databaseOfFile } from '../../support/database/database.js';
import { waitersFor } from '../../support/database/lock-waiters.js';
import { type IdentityNode, publicUrl, startIdentityNode } from '../../support/servers/identity.js';

const database = databaseOfFile(test);
let node: IdentityNode;
let keys: Keys;
const operations = new Map<string, Operation>();

test.before(async () => {
  node = await startIdentityNode(database.url, {
    more: async ({ store, changes, sealer, identity, problems }) => {
      const reads = openHotReads({ databaseUrl: database.url, time: systemTime });
      const platform = platformOf({ store, reads, changes, log: logTo((_, error) => problems.push(error)) });
      keys = createKeys(platform);
      const mail = createMail(platform, { sealer, outboxFolder: '', publicUrl: () => publicUrl });
      const invites = createInvites(platform, {
        accounts: identity.accounts,
        mail,
        publicUrl: () => publicUrl,
        requireVerified: (scope, work) => identity.verifiedOwners.require(scope, work),
        countMail: (tx, email) => identity.invitationMails.count(tx, email),
      });
      const all = [...identity.operations, ...keys.operations, ...invites.operations];
      for (const operation of all) operations.set(operation.name, operation);
      return {
        operations: [...keys.operations, ...invites.operations],
        async close() {
          await keys.stop();
          await mail.close();
          await reads.close();
        },
      };
    },
  });
  database.atEnd(() => node.close());
});

function act(
  name: string,
  caller: TenantCaller,
  body: object,
  params: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const operation = operations.get(name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return invoke(operation, { caller, body, params, requestId: randomUUID() });
}

/** The caller as a request of the person is authenticated. */
async function callerOf(person: Person): Promise<TenantCaller> {
  const token = await node.identity.verifyToken(person.token);
  if (!('userId' in token)) throw new Error('the token acts as a key');
  const membership = await node.identity.membershipOf(person.id, person.tenantId);
  return { kind: 'tenant-user', ...token, address: '127.0.0.1', ...membership };
}

interface Tenant {
  readonly owner: Person;
  readonly ownerCaller: TenantCaller;
  /** Whom changes of members are about. */
  readonly member: Person;
}

async function newTenant(): Promise<Tenant> {
  const owner = await registerPerson(node.api);
  const member = await addMember(node, owner.tenantId, 'member');
  return { owner, ownerCaller: await callerOf(owner), member };
}

async function newKey(by: TenantCaller, wish: object = {}): Promise<{ id: string; api_key: string }> {
  const made = (await act('keys.create', by, { name: 'a key', role: 'admin', ...wish })) as {
    data: { id: string; api_key: string };
  };
  return made.data;
}

/** What gives lasting access, and what takes it away. */
function changesBy(caller: TenantCaller, { owner, member }: Tenant, kept: { key: string; invite: string }) {
  const { tenantId } = owner;
  const email = `${randomUUID()}@example.com`;
  return {
    'keys.create': () => act('keys.create', caller, { name: 'lasting', role: 'admin' }),
    'keys.update': () => act('keys.update', caller, { allowed_ips: null }, { keyId: kept.key }),
    'keys.change_rate': () => act('keys.change_rate', caller, { rateLimitPerMinute: 5 }, { keyId: kept.key }),
    'keys.revoke': () => act('keys.revoke', caller, {}, { keyId: kept.key }),
    'invites.create': () => act('invites.create', caller, { email, role: 'admin' }, { id: tenantId }),
    'invites.cancel': () => act('invites.cancel', caller, {}, { id: tenantId, inviteId: kept.invite }),
    'members.update': () =>
      act('members.update', caller, { role: 'admin' }, { id: tenantId, userId: member.id }),
    'members.remove': () => act('members.remove', caller, {}, { id: tenantId, userId: member.id }),
  };
}

/** Everything that the changes write. */
function accessOf({ owner }: Tenant): Promise<unknown> {
  const scope = tenantScope(owner.tenantId);
  return node.store.inTenant(scope, async (tx) => ({
    keys: await tx.any(sql.unsafe`select row_to_json(k)::text as row from api_keys k order by id`),
    invites: await tx.any(sql.unsafe`select row_to_json(i)::text as row from invites i order by id`),
    members: await tx.any(sql.unsafe`
      select user_id, role from memberships where tenant_id = ${scope.tenantId} order by user_id`),
  }));
}

async function invited({ ownerCaller, owner }: Tenant): Promise<string> {
  const body = { email: `${randomUUID()}@example.com`, role: 'member' };
  const made = (await act('invites.create', ownerCaller, body, { id: owner.tenantId })) as {
    data: { id: string };
  };
  return made.data.id;
}

const setRole = (tenant: Tenant, person: Person, role: Role): Promise<unknown> =>
  act('members.update', tenant.ownerCaller, { role }, { id: tenant.owner.tenantId, userId: person.id });

type Ending = readonly [string, (tenant: Tenant, admin: Person) => Promise<unknown>, string];

const endingsOfUsers: readonly Ending[] = [
  ['was lowered', (tenant, admin) => setRole(tenant, admin, 'member'), 'insufficient_permissions'],
  [
    'was removed',
    ({ ownerCaller, owner }, admin) =>
      act('members.remove', ownerCaller, {}, { id: owner.tenantId, userId: admin.id }),
    'tenant_not_found',
  ],
  [
    'signed out',
    (_, admin) => node.api.post('/api/auth/logout', { refresh_token: admin.refreshToken }),
    'invalid_token',
  ],
  ['was disabled', (_, admin) => node.identity.accounts.disable(admin.id, 'operator'), 'invalid_token'],
  [
    'belongs to a tenant that was suspended',
    ({ owner }) => node.identity.suspension.suspend(owner.tenantId, 'a reason', 'operator'),
    'tenant_suspended',
  ],
];

for (const [what, end, code] of endingsOfUsers) {
  test(`an admin who ${what} after the request was authenticated changes nobody's access`, async (t) => {
    const tenant = await newTenant();
    const admin = await addMember(node, tenant.owner.tenantId, 'admin');
    const caller = await callerOf(admin);
    const kept = { key: (await newKey(tenant.ownerCaller)).id, invite: await invited(tenant) };
    await end(tenant, admin);
    const before = await accessOf(tenant);
    for (const [name, change] of Object.entries(changesBy(caller, tenant, kept)))
      await t.throwsAsync(change(), { code }, name);
    t.deepEqual(await accessOf(tenant), before);
  });
}

test('a user of an outside issuer, who has no sign-in here, is looked at again too', async (t) => {
  const tenant = await newTenant();
  const admin = await addMember(node, tenant.owner.tenantId, 'admin');
  const caller = { ...(await callerOf(admin)), familyId: undefined };
  await newKey(caller);
  await setRole(tenant, admin, 'member');
  await t.throwsAsync(newKey(caller), { code: 'insufficient_permissions' });
});

test('a role that was lowered grants no role above it', async (t) => {
  const tenant = await newTenant();
  const owner = await addMember(node, tenant.owner.tenantId, 'owner');
  const caller = await callerOf(owner);
  await setRole(tenant, owner, 'admin');
  const params = { id: tenant.owner.tenantId };
  const email = `${randomUUID()}@example.com`;
  await t.throwsAsync(act('invites.create', caller, { email, role: 'owner' }, params), {
    code: 'ROLE_ESCALATION_DENIED',
  });
  await t.throwsAsync(
    act('members.update', caller, { role: 'owner' }, { ...params, userId: tenant.member.id }),
    { code: 'ROLE_ESCALATION_DENIED' },
  );
  await setRole(tenant, owner, 'editor');
  await t.throwsAsync(newKey(caller), { code: 'ROLE_ESCALATION_DENIED' });
  await t.notThrowsAsync(newKey(caller, { role: 'editor' }));
});

test('a request that asks for less than its caller has gets less', async (t) => {
  const tenant = await newTenant();
  const caller = { ...tenant.ownerCaller, role: 'admin' as const };
  const params = { id: tenant.owner.tenantId, userId: tenant.member.id };
  await t.throwsAsync(act('members.update', caller, { role: 'owner' }, params), {
    code: 'ROLE_ESCALATION_DENIED',
  });
});

test("a key, or a token that acts as it, changes nobody's access after the key was revoked", async (t) => {
  const tenant = await newTenant();
  const { id, api_key: apiKey } = await newKey(tenant.ownerCaller);
  const caller = await keys.authenticateKey(apiKey, '127.0.0.1');
  const byToken = { ...caller, expiresAtMs: Date.now() + 900_000 };
  const kept = { key: (await newKey(tenant.ownerCaller)).id, invite: await invited(tenant) };
  await act('keys.revoke', tenant.ownerCaller, {}, { keyId: id });
  const before = await accessOf(tenant);
  for (const [by, code] of [
    [caller, 'invalid_api_key'],
    [byToken, 'invalid_token'],
  ] as const) {
    for (const [name, change] of Object.entries(changesBy(by, tenant, kept)))
      await t.throwsAsync(change(), { code }, name);
  }
  t.deepEqual(await accessOf(tenant), before);
});

test("a key that has expired, or whose token has, changes nobody's access", async (t) => {
  const tenant = await newTenant();
  const { api_key: apiKey } = await newKey(tenant.ownerCaller, { expiresInDays: 5 / 86_400 });
  const caller = await keys.authenticateKey(apiKey, '127.0.0.1');
  await t.throwsAsync(newKey({ ...caller, expiresAtMs: Date.now() - 1 }), { code: 'invalid_token' });
  const refusal = await eventually(
    () =>
      newKey(caller).then(
        () => undefined,
        (error: unknown) => error,
      ),
    { what: 'the expired key is refused', everyMs: 250 },
  );
  t.like(refusal, { code: 'invalid_api_key' });
});

/** Begins while a transaction of another node that ends the access has not yet committed. */
async function whileEnding(
  statements: readonly string[],
  change: () => Promise<unknown>,
): Promise<PromiseSettledResult<unknown> | undefined> {
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await other.query('set role troupe_directory');
  try {
    await other.query('begin');
    for (const statement of statements) await other.query(statement);
    const changing = Promise.allSettled([change()]);
    await eventually(async () => (await waitersFor(other)).length === 1, { what: 'the change waits' });
    await other.query('commit');
    return (await changing)[0];
  } finally {
    await other.end();
  }
}

function lasting(caller: TenantCaller, { owner }: Tenant): readonly (() => Promise<unknown>)[] {
  const email = `${randomUUID()}@example.com`;
  return [
    () => newKey(caller),
    () => act('invites.create', caller, { email, role: 'admin' }, { id: owner.tenantId }),
  ];
}

test('a change waits for the lowering of its caller that is under way', async (t) => {
  const tenant = await newTenant();
  const { tenantId } = tenant.owner;
  for (const index of [0, 1]) {
    const admin = await addMember(node, tenantId, 'admin');
    const change = lasting(await callerOf(admin), tenant)[index];
    const lowering = [
      `select 1 from tenants where id = '${tenantId}' for update`,
      `update memberships set role = 'member' where tenant_id = '${tenantId}' and user_id = '${admin.id}'`,
    ];
    const result = await whileEnding(lowering, async () => change?.());
    t.like(result ?? {}, { status: 'rejected', reason: { code: 'insufficient_permissions' } });
  }
});

test('a change waits for the revocation of its key that is under way', async (t) => {
  const tenant = await newTenant();
  for (const index of [0, 1]) {
    const { id, api_key: apiKey } = await newKey(tenant.ownerCaller);
    const change = lasting(await keys.authenticateKey(apiKey, '127.0.0.1'), tenant)[index];
    const revoking = [`update api_keys set revoked_at = now() where id = '${id}'`];
    const result = await whileEnding(revoking, async () => change?.());
    t.like(result ?? {}, { status: 'rejected', reason: { code: 'invalid_api_key' } });
  }
});

test('keys that change each other at once do not block each other', async (t) => {
  const tenant = await newTenant();
  const made = await Promise.all([newKey(tenant.ownerCaller), newKey(tenant.ownerCaller)]);
  const callers = await Promise.all(
    made.map(async ({ api_key: apiKey }) => keys.authenticateKey(apiKey, '127.0.0.1')),
  );
  const changes = Array.from({ length: 12 }, (_, index) => {
    const [by, of] = [callers[index % 2], made[(index + 1 + Math.floor(index / 4)) % 2]];
    if (by === undefined || of === undefined) throw new Error('there are two keys');
    return act('keys.update', by, { description: `change ${index}` }, { keyId: of.id });
  });
  await t.notThrowsAsync(Promise.all(changes));
});

test('a change does not wait for rows of its tenant that are being written', async (t) => {
  const tenant = await newTenant();
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await other.query('set role troupe_directory');
  t.teardown(() => other.end());
  await other.query('begin');
  await other.query(`select 1 from tenants where id = '${tenant.owner.tenantId}' for key share`);
  await t.notThrowsAsync(newKey(tenant.ownerCaller));
});
