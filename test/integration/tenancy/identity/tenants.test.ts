import { randomUUID } from 'node:crypto';
import test from 'ava';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { markDeleting } from '../../../../src/tenancy/identity/deletion.store.js';
import type { Api, ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { type IdentityNode, operatorToken, startIdentityNode } from '../../../support/servers/identity.js';
import { addMember, type Person, registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
let node: IdentityNode;
let neighbour: IdentityNode;
let api: Api;

test.before(async () => {
  [node, neighbour] = await Promise.all([startIdentityNode(database.url), startIdentityNode(database.url)]);
  database.atEnd(async () => void (await Promise.all([node.close(), neighbour.close()])));
  api = node.api;
});

const person = (): Promise<Person> => registerPerson(api);
const changeRole = (by: Person, tenant: string, of: Person, role: string, at = api): Promise<ApiAnswer> =>
  at.patch(`/api/tenants/${tenant}/members/${of.id}`, { role }, { token: by.token });

test('a new tenant belongs to its creator, on plan free, and is listed and read', async (t) => {
  const owner = await person();
  const made = await api.post('/api/tenants', { name: '  Second  ' }, { token: owner.token });
  t.is(made.status, 201);
  t.like(made.at('data'), { name: 'Second', role: 'owner', plan: 'free' });
  const listed = await api.get('/api/tenants', { token: owner.token });
  t.is(listed.at('count'), 2);
  t.deepEqual(listed.at('data.1'), made.at('data'));
  const read = await api.get(`/api/tenants/${made.textAt('data.id').toUpperCase()}`, { token: owner.token });
  const retention = {
    messages_days: 365,
    executions_days: 90,
    previews_days: 30,
    usage_days: 400,
    audit_days: 400,
  };
  t.deepEqual(read.at('data'), { ...(made.at('data') as object), retention });
  const renamed = await api.patch(`/api/tenants/${made.textAt('data.id')}`, { name: 'Third' }, owner);
  t.is(renamed.at('data.name'), 'Third');
  t.is((await api.patch(`/api/tenants/${made.textAt('data.id')}`, {}, owner)).at('data.name'), 'Third');
});

test('a request with the key of a tenant that is being deleted makes another tenant', async (t) => {
  const { token } = await person();
  const make = async (): Promise<string> => {
    const headers = { 'idempotency-key': 'set-up' };
    const made = await api.post('/api/tenants', { name: 'Set up' }, { token, headers });
    t.is(made.status, 201, made.text);
    return made.textAt('data.id');
  };
  const first = await make();
  t.is(await make(), first);
  await node.store.inTenant(tenantScope(first), (tx) => markDeleting(tx, 'operator', new Date()));
  const second = await make();
  t.not(second, first);
  t.is(await make(), second);
});

test('a foreign tenant, an unknown one and a malformed id get the same refusal', async (t) => {
  const [owner, stranger] = await Promise.all([person(), person()]);
  const answers = await Promise.all(
    [owner.tenantId, randomUUID(), 'not-an-id'].flatMap((id) => [
      api.get(`/api/tenants/${id}`, stranger),
      api.patch(`/api/tenants/${id}`, { name: 'Mine' }, stranger),
      api.get(`/api/tenants/${id}/members`, stranger),
      api.delete(`/api/tenants/${id}/members/${owner.id}`, stranger),
    ]),
  );
  for (const answer of answers) {
    t.is(answer.status, 404);
    t.deepEqual(answer.body, answers[0]?.body);
    t.is(answer.at('error'), 'tenant_not_found');
  }
});

test("a user's only tenant needs no header; with two, or none, the header is required", async (t) => {
  const owner = await person();
  const only = await node.identity.membershipOf(owner.id, undefined);
  t.is(only.scope.tenantId, owner.tenantId);
  await api.post('/api/tenants', { name: 'Another' }, owner);
  for (const id of [owner.id, randomUUID()]) {
    const refusal = await t.throwsAsync(async () => node.identity.membershipOf(id, undefined), {
      instanceOf: PlatformError,
      code: 'missing_tenant',
    });
    t.deepEqual(refusal.details, { field: 'x-tenant-id', issue: 'required' });
  }
});

test('a cached membership and token are returned without a promise', async (t) => {
  const owner = await person();
  const { membershipOf, verifyToken } = node.identity;
  // Concurrent changes of other tests may prevent the first answer from being cached.
  const inMemory = (read: () => unknown): Promise<true> =>
    eventually(async () => {
      await read();
      return !(read() instanceof Promise);
    });
  t.true(await inMemory(() => membershipOf(owner.id, owner.tenantId)));
  t.true(await inMemory(() => verifyToken(owner.token)));
});

test('owner and admin list members; editor and member are refused', async (t) => {
  const owner = await person();
  const admin = await addMember(node, owner.tenantId, 'admin');
  const editor = await addMember(node, owner.tenantId, 'editor');
  const member = await addMember(node, owner.tenantId, 'member');
  const listed = await api.get(`/api/tenants/${owner.tenantId}/members`, admin);
  t.is(listed.at('count'), 4);
  t.deepEqual(
    (listed.at('data') as { user_id: string; role: string }[]).map(({ user_id, role }) => [user_id, role]),
    [
      [owner.id, 'owner'],
      [admin.id, 'admin'],
      [editor.id, 'editor'],
      [member.id, 'member'],
    ],
  );
  for (const one of [editor, member]) {
    const refused = await api.get(`/api/tenants/${owner.tenantId}/members`, one);
    t.is(refused.status, 403);
    t.is(refused.at('error'), 'insufficient_permissions');
    t.is((await changeRole(one, owner.tenantId, member, 'admin')).status, 403);
  }
});

test("a member's role, phone and external id change; omitted fields stay, null removes", async (t) => {
  const owner = await person();
  const member = await addMember(node, owner.tenantId, 'member');
  const path = `/api/tenants/${owner.tenantId}/members/${member.id}`;
  const first = await api.patch(path, { phone: '+55 (11) 99999-0000', external_id: 'E-7' }, owner);
  t.is(first.status, 200);
  t.like(first.at('data'), {
    user_id: member.id,
    role: 'member',
    phone: '+5511999990000',
    external_id: 'E-7',
  });
  const second = await api.patch(path, { role: 'editor', phone: null }, owner);
  t.like(second.at('data'), { role: 'editor', phone: null, external_id: 'E-7' });
  t.is((await api.patch(path, { role: 'emperor' }, owner)).at('details.field'), 'role');
  t.is((await api.patch(path, { phone: 'call me' }, owner)).at('details.field'), 'phone');
});

test('nobody can raise a member above themselves or change a member above them', async (t) => {
  const owner = await person();
  const admin = await addMember(node, owner.tenantId, 'admin');
  const member = await addMember(node, owner.tenantId, 'member');
  const answers = [
    await changeRole(admin, owner.tenantId, member, 'owner'),
    await changeRole(admin, owner.tenantId, admin, 'owner'),
    await changeRole(admin, owner.tenantId, owner, 'member'),
    await api.delete(`/api/tenants/${owner.tenantId}/members/${owner.id}`, admin),
  ];
  for (const answer of answers) {
    t.is(answer.status, 403);
    t.is(answer.at('error'), 'ROLE_ESCALATION_DENIED');
  }
});

test('the last owner is neither demoted nor removed', async (t) => {
  const owner = await person();
  const lowered = await changeRole(owner, owner.tenantId, owner, 'admin');
  t.is(lowered.status, 409);
  t.is(lowered.at('error'), 'conflict');
  t.is((await api.delete(`/api/tenants/${owner.tenantId}/members/${owner.id}`, owner)).status, 409);
});

test('of two last owners who demote or remove each other or themselves at once one stays owner', async (t) => {
  const ways: ((a: Person, b: Person) => Promise<ApiAnswer>[])[] = [
    (a, b) => [changeRole(a, a.tenantId, b, 'member'), changeRole(b, a.tenantId, a, 'member', neighbour.api)],
    (a, b) => [changeRole(a, a.tenantId, a, 'member'), changeRole(b, a.tenantId, b, 'member', neighbour.api)],
    (a, b) => [
      api.delete(`/api/tenants/${a.tenantId}/members/${a.id}`, a),
      neighbour.api.delete(`/api/tenants/${a.tenantId}/members/${b.id}`, b),
    ],
  ];
  for (const way of ways) {
    const first = await person();
    const second = await addMember(node, first.tenantId, 'owner');
    const answers = await Promise.all(way(first, second));
    t.is(answers.filter(({ status }) => status === 200).length, 1);
    const roles = await Promise.all(
      [first, second].map(async ({ id }) => (await neighbour.identity.accounts.overview(id)).tenants),
    );
    const owners = roles.flat().filter(({ id, role }) => id === first.tenantId && role === 'owner');
    t.is(owners.length, 1);
  }
});

test('a removed member is refused at once on that node, and a moment later on every node', async (t) => {
  const owner = await person();
  const member = await addMember(node, owner.tenantId, 'member');
  for (const one of [node, neighbour]) {
    t.is((await one.api.get(`/api/tenants/${owner.tenantId}`, member)).status, 200);
  }
  const removed = await api.delete(`/api/tenants/${owner.tenantId}/members/${member.id}`, owner);
  t.deepEqual(removed.body, { success: true, message: 'The member was removed.' });
  t.is((await api.get(`/api/tenants/${owner.tenantId}`, member)).at('error'), 'tenant_not_found');
  t.true(
    await eventually(
      async () => (await neighbour.api.get(`/api/tenants/${owner.tenantId}`, member)).status === 404,
    ),
  );
  const again = await api.delete(`/api/tenants/${owner.tenantId}/members/${member.id}`, owner);
  t.is(again.at('error'), 'not_found');
});

test('the operator changes a plan and its figures, in force at once', async (t) => {
  const owner = await person();
  const path = `/api/tenants/${owner.tenantId}/plan`;
  await node.identity.membershipOf(owner.id, owner.tenantId);
  const raised = await api.patch(
    path,
    { plan: 'pro', settings: { requests_per_minute: 7 } },
    { token: operatorToken },
  );
  t.is(raised.status, 200);
  t.like(raised.at('data'), { id: owner.tenantId, plan: 'pro', settings: { requests_per_minute: 7 } });
  const { limits } = await node.identity.membershipOf(owner.id, owner.tenantId);
  t.like(limits, { plan: 'pro', requestsPerMinute: 7, requestsPerDay: 50_000 });
  const plain = await api.patch(path, { settings: { requests_per_minute: null } }, { token: operatorToken });
  t.like(plain.at('data'), { plan: 'pro', settings: {} });
  const after = await node.identity.membershipOf(owner.id, owner.tenantId);
  t.is(after.limits.requestsPerMinute, 300);
  const two = { monthly_tokens: 1, key_rpm_max: 2 };
  t.like((await api.patch(path, { settings: two }, { token: operatorToken })).at('data'), { settings: two });
  const none = await api.patch(path, { settings: null }, { token: operatorToken });
  t.deepEqual(none.at('data.settings'), {}, 'null takes all of them away');
  t.is((await api.get('/api/auth/me', owner)).at('data.tenants.0.plan'), 'pro');
});

test('only the operator changes plans, and only to existing ones', async (t) => {
  const owner = await person();
  const path = `/api/tenants/${owner.tenantId}/plan`;
  t.is((await api.patch(path, { plan: 'enterprise' }, owner)).status, 401);
  t.is((await api.patch(path, { plan: 'gold' }, { token: operatorToken })).at('details.field'), 'plan');
  for (const id of [randomUUID(), 'nonsense']) {
    const answer = await api.patch(`/api/tenants/${id}/plan`, { plan: 'pro' }, { token: operatorToken });
    t.is(answer.status, 404);
    t.is(answer.at('error'), 'tenant_not_found');
  }
});

test('a user has at most twenty tenants, including the one of the registration, also concurrently', async (t) => {
  const owner = await person();
  const make = async () => (await api.post('/api/tenants', { name: 'One more' }, owner)).status;
  const made = await Promise.all(Array.from({ length: 25 }, make));
  t.is(made.filter((status) => status === 201).length, 19);
  t.is(made.filter((status) => status === 409).length, 6);
  const refused = await api.post('/api/tenants', { name: 'One more' }, owner);
  t.is(refused.at('error'), 'conflict');
  t.is(refused.at('details.limit'), 20);
});

test('tenants that a user gave away still count for the creator, and those received count for the owner', async (t) => {
  const owner = await person();
  await node.store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into tenants (id, name, made_by)
      select gen_random_uuid(), 'given away', ${owner.id} from generate_series(1, 10)`);
    await tx.query(sql.typeAlias('nothing')`
      insert into tenants (id, name) select gen_random_uuid(), ${owner.id} from generate_series(1, 8)`);
    await tx.query(sql.typeAlias('nothing')`
      insert into memberships (tenant_id, user_id, role)
      select id, ${owner.id}, 'owner' from tenants where name = ${owner.id}`);
  });
  t.is((await api.post('/api/tenants', { name: 'The twentieth' }, owner)).status, 201);
  t.is((await api.post('/api/tenants', { name: 'One more' }, owner)).status, 409);
});

test('commands list tenants, create one, and change its plan', async (t) => {
  const { tenants } = node.identity;
  const made = await tenants.createEmpty('Made by command', 'basic', 'operator');
  t.is((await tenants.listAll()).find(({ id }) => id === made.id)?.plan, 'basic');
  t.is((await tenants.setPlan(made.id, { plan: 'enterprise' }, 'operator')).plan, 'enterprise');
});
