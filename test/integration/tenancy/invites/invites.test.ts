import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sql } from '../../../../src/infra/storage/index.js';
import type { ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, type ShiftedTime, shiftedTime } from '../../../support/servers/identity.js';
import { startInvitesNode } from '../../../support/servers/invites.js';
import { createMailFolder, type MailFolder } from '../../../support/servers/mail-folder.js';
import { addMember, type Person, registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
const publicUrl = 'https://troupe.example.com';
const password = 'correct horse battery';
let folder: MailFolder;
let node: IdentityNode;
let neighbour: IdentityNode;
/** A node on which a week has passed. */
let later: IdentityNode;

test.before(async () => {
  folder = await createMailFolder();
  const weekLater = shiftedTime();
  weekLater.aheadMs = 7 * 86_400_000;
  [node, neighbour, later] = await Promise.all([startNode(), startNode(), startNode(weekLater)]);
  database.atEnd(async () => {
    await Promise.all([node.close(), neighbour.close(), later.close()]);
    await folder.remove();
  });
});

const startNode = (time?: ShiftedTime): Promise<IdentityNode> =>
  startInvitesNode(database.url, { folder, publicUrl, time });

const person = (): Promise<Person> => registerPerson(node.api);
const freshEmail = (): string => `${randomUUID()}@example.com`;

function invite(by: Person, email: string, role = 'editor', tenant = by.tenantId): Promise<ApiAnswer> {
  return node.api.post(`/api/tenants/${tenant}/invites`, { email, role }, { token: by.token });
}

/** The token from the mail that was sent to the address. */
async function tokenFor(email: string): Promise<string> {
  const mail = await folder.mailWith(`To: ${email}`);
  const token = /https:\/\/troupe\.example\.com\/join\?token=([\w-]+)/.exec(mail)?.[1];
  if (token === undefined) throw new Error(`no join link in ${mail}`);
  return token;
}

const accept = (body: object, by?: Person, at = node): Promise<ApiAnswer> =>
  at.api.post('/api/invites/accept', body, { token: by?.token });

test('an invitation is returned, listed and mailed, and only the mail has its token', async (t) => {
  const owner = await person();
  const email = freshEmail();
  const made = await invite(owner, email);
  t.is(made.status, 201);
  t.like(made.at('data'), { email, role: 'editor', status: 'pending', invited_by: owner.id });
  const created = Date.parse(made.textAt('data.created_at'));
  t.is(Date.parse(made.textAt('data.expires_at')) - created, 7 * 86_400_000);
  const listed = await node.api.get(`/api/tenants/${owner.tenantId}/invites`, { token: owner.token });
  t.deepEqual(listed.body, { success: true, data: [made.at('data')], count: 1 });
  const token = await tokenFor(email);
  t.true(token.length >= 32);
  t.false(made.text.includes(token));
  t.false(listed.text.includes(token));
  const stored = await node.store.directory((tx) =>
    tx.one(sql.unsafe`select row_to_json(i)::text as whole from invites i where lower(email) = ${email}`),
  );
  t.false(JSON.stringify(stored).includes(token));
});

test('a person without an account joins by creating one and is signed in', async (t) => {
  const owner = await person();
  const email = freshEmail();
  await invite(owner, email, 'editor');
  const token = await tokenFor(email);
  const answer = await accept({ token, name: 'Grace', password });
  t.is(answer.status, 201);
  t.like(answer.at('data.user'), { email, name: 'Grace' });
  t.deepEqual(answer.at('data.tenants'), [
    { id: owner.tenantId, name: answer.at('data.tenants.0.name'), role: 'editor', plan: 'free' },
  ]);
  const me = await node.api.get('/api/auth/me', { token: answer.textAt('data.access_token') });
  t.is(me.at('data.user.email'), email);
  t.is((await node.api.post('/api/auth/login', { email, password })).status, 200);
  const listed = await node.api.get(`/api/tenants/${owner.tenantId}/invites`, { token: owner.token });
  t.is(listed.at('count'), 0);
  const again = await accept({ token, password });
  t.is(again.status, 404);
  t.is(again.at('error'), 'not_found');
});

test('an account joins by its access token, in force at once', async (t) => {
  const [owner, guest] = await Promise.all([person(), person()]);
  await node.identity.membershipOf(guest.id, undefined);
  const shouted = guest.email.replace(/^[^@]+/, (name) => name.toUpperCase());
  await invite(owner, shouted, 'member');
  const answer = await accept({ token: await tokenFor(shouted) }, guest);
  t.is(answer.status, 201);
  t.is(answer.at('data.user.id'), guest.id);
  const tenants = answer.at('data.tenants') as { id: string; role: string }[];
  t.is(tenants.find(({ id }) => id === owner.tenantId)?.role, 'member');
  t.is((await node.identity.membershipOf(guest.id, owner.tenantId)).role, 'member');
  await t.throwsAsync(async () => node.identity.membershipOf(guest.id, undefined), {
    code: 'missing_tenant',
  });
});

test('an account joins by its password; a wrong, missing or foreign one is refused and uses nothing up', async (t) => {
  const [owner, guest, other] = await Promise.all([person(), person(), person()]);
  await invite(owner, guest.email);
  const token = await tokenFor(guest.email);
  for (const refused of [
    await accept({ token, password: 'wrong password' }),
    await accept({ token }),
    await accept({ token }, other),
  ]) {
    t.is(refused.status, 401);
    t.is(refused.at('error'), 'invalid_credentials');
  }
  const answer = await accept({ token, password: guest.password });
  t.is(answer.status, 201);
  t.is(answer.at('data.user.id'), guest.id);
});

test('wrong passwords at invitations count as failed sign-ins', async (t) => {
  const [owner, guest] = await Promise.all([person(), person()]);
  await invite(owner, guest.email);
  const token = await tokenFor(guest.email);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    t.is((await accept({ token, password: 'wrong password' })).status, 401);
    t.is(
      (await node.api.post('/api/auth/login', { email: guest.email, password: 'wrong password' })).status,
      401,
    );
  }
  const refused = await accept({ token, password: guest.password });
  t.is(refused.status, 429);
  t.is(refused.at('error'), 'rate_limit_exceeded');
});

test('a new account requires a long enough password', async (t) => {
  const owner = await person();
  const email = freshEmail();
  await invite(owner, email);
  const token = await tokenFor(email);
  const missing = await accept({ token });
  t.is(missing.status, 400);
  t.like(missing.body, { error: 'missing_required_field', details: { field: 'password' } });
  const short = await accept({ token, password: 'ninechars' });
  t.like(short.body, { error: 'validation_error' });
  t.is(short.at('details.field'), 'password');
  t.is((await accept({ password })).at('details.field'), 'token');
});

test('of two people who accept one invitation at once one joins, and the other finds it used', async (t) => {
  const owner = await person();
  const email = freshEmail();
  await invite(owner, email);
  const token = await tokenFor(email);
  const newcomers = await Promise.all([
    accept({ token, password }),
    accept({ token, password: 'another password' }, undefined, neighbour),
  ]);
  t.is(newcomers.filter(({ status }) => status === 201).length, 1);
  t.true(newcomers.every(({ status }) => status === 201 || status === 404 || status === 401));

  const guest = await person();
  await invite(owner, guest.email);
  const guestToken = await tokenFor(guest.email);
  const answers = await Promise.all([
    accept({ token: guestToken }, guest),
    accept({ token: guestToken }, guest, neighbour),
  ]);
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 404],
  );
});

test('a cancelled, an expired and an unknown token are not found', async (t) => {
  const owner = await person();
  const [cancelled, expired] = [freshEmail(), freshEmail()];
  const made = await invite(owner, cancelled);
  await invite(owner, expired);
  const path = `/api/tenants/${owner.tenantId}/invites/${made.textAt('data.id')}`;
  const answer = await node.api.delete(path, { token: owner.token });
  t.deepEqual(answer.body, { success: true, message: 'The invitation was cancelled.' });
  t.is((await node.api.delete(path, { token: owner.token })).at('error'), 'not_found');
  for (const [token, at] of [
    [await tokenFor(cancelled), node],
    [await tokenFor(expired), later],
    ['never-made', node],
  ] as const) {
    const refused = await accept({ token, password }, undefined, at);
    t.is(refused.status, 404);
    t.is(refused.at('error'), 'not_found');
  }
  const login = await later.api.post('/api/auth/login', { email: owner.email, password: owner.password });
  const token = login.textAt('data.access_token');
  const listed = await later.api.get(`/api/tenants/${owner.tenantId}/invites`, { token });
  t.is(listed.at('count'), 0);
  const anew = await later.api.post(
    `/api/tenants/${owner.tenantId}/invites`,
    { email: expired, role: 'member' },
    { token },
  );
  t.is(anew.status, 201, 'an expired invitation does not stand in the way of the next');
});

test('a second pending invitation of an address, and one of a member, are conflicts, also concurrently', async (t) => {
  const owner = await person();
  const email = freshEmail();
  const answers = await Promise.all([invite(owner, email), invite(owner, email.toUpperCase())]);
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 409],
  );
  const second = await invite(owner, email);
  t.is(second.at('error'), 'conflict');
  t.is((await invite(owner, owner.email.toUpperCase())).at('error'), 'conflict');
  const made = answers.find(({ status }) => status === 201);
  await node.api.delete(`/api/tenants/${owner.tenantId}/invites/${made?.textAt('data.id')}`, {
    token: owner.token,
  });
  t.is((await invite(owner, email)).status, 201);
});

test('nobody invites above their role or cancels such an invitation; editors and members invite nobody', async (t) => {
  const owner = await person();
  const admin = await addMember(node, owner.tenantId, 'admin');
  const editor = await addMember(node, owner.tenantId, 'editor');
  const member = await addMember(node, owner.tenantId, 'member');
  const above = await invite(admin, freshEmail(), 'owner');
  t.is(above.status, 403);
  t.is(above.at('error'), 'ROLE_ESCALATION_DENIED');
  t.is((await invite(admin, freshEmail(), 'admin')).status, 201);
  const owners = await invite(owner, freshEmail(), 'owner');
  t.is(owners.status, 201);
  const path = `/api/tenants/${owner.tenantId}/invites/${owners.textAt('data.id')}`;
  t.is((await node.api.delete(path, { token: admin.token })).at('error'), 'ROLE_ESCALATION_DENIED');
  for (const one of [editor, member]) {
    t.is((await invite(one, freshEmail(), 'member')).at('error'), 'insufficient_permissions');
    t.is((await node.api.get(`/api/tenants/${owner.tenantId}/invites`, { token: one.token })).status, 403);
  }
});

test("another tenant's invitations are not found", async (t) => {
  const [owner, stranger] = await Promise.all([person(), person()]);
  const made = await invite(owner, freshEmail());
  t.is((await invite(stranger, freshEmail(), 'member', owner.tenantId)).at('error'), 'tenant_not_found');
  const id = made.textAt('data.id');
  const own = await node.api.delete(`/api/tenants/${stranger.tenantId}/invites/${id}`, {
    token: stranger.token,
  });
  t.is(own.at('error'), 'not_found');
  const foreign = await node.api.delete(`/api/tenants/${owner.tenantId}/invites/${id}`, {
    token: stranger.token,
  });
  t.is(foreign.at('error'), 'tenant_not_found');
  const bad = await node.api.delete(`/api/tenants/${owner.tenantId}/invites/nonsense`, {
    token: owner.token,
  });
  t.is(bad.at('error'), 'not_found');
});

test('an invalid invitation is refused with the field', async (t) => {
  const owner = await person();
  t.is((await invite(owner, 'nobody')).at('details.field'), 'email');
  t.is((await invite(owner, freshEmail(), 'emperor')).at('details.field'), 'role');
  const missing = await node.api.post(
    `/api/tenants/${owner.tenantId}/invites`,
    { email: freshEmail() },
    { token: owner.token },
  );
  t.is(missing.at('error'), 'missing_required_field');
});

test('a tenant that sent a thousand invitations in a day must wait for the next', async (t) => {
  const owner = await person();
  const { scope } = await node.identity.membershipOf(owner.id, owner.tenantId);
  await node.store.inTenant(scope, (tx) =>
    tx.query(sql.typeAlias('nothing')`
      insert into invites (tenant_id, id, email, role, token_hash, status, invited_by, created_at, expires_at, closed_at)
      select ${owner.tenantId}, gen_random_uuid(), n || '@example.com', 'member',
        sha256(convert_to(${owner.tenantId} || n, 'UTF8')), 'cancelled', ${owner.id}, now(), now(), now()
      from generate_series(1, 1000) n`),
  );
  const refused = await invite(owner, freshEmail());
  t.is(refused.status, 429);
  t.is(refused.at('error'), 'rate_limit_exceeded');
  t.is(refused.at('details.limit'), 1000);
  t.is(refused.headers.get('retry-after'), '3600');
});

test('the join link opens a page that runs only its own script and uses nothing up', async (t) => {
  const owner = await person();
  const email = freshEmail();
  await invite(owner, email);
  const token = await tokenFor(email);
  const page = await node.api.get(`/join?token=${token}`);
  t.is(page.status, 200);
  t.regex(page.headers.get('content-type') ?? '', /^text\/html/);
  const policy = page.headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'none'/);
  t.regex(policy, /script-src 'sha256-/);
  t.is(page.headers.get('referrer-policy'), 'no-referrer');
  t.false(page.text.includes(token));
  t.true(page.text.includes('/api/invites/accept'));
  t.is((await accept({ token, password })).status, 201);
});

test('the audit records who invited, joined, changed and removed whom', async (t) => {
  const owner = await person();
  const email = freshEmail();
  await invite(owner, email, 'member');
  const joined = await accept({ token: await tokenFor(email), password });
  const memberId = joined.textAt('data.user.id');
  const path = `/api/tenants/${owner.tenantId}/members/${memberId}`;
  await node.api.patch(path, { role: 'editor' }, { token: owner.token });
  await node.api.delete(path, { token: owner.token });
  const { scope } = await node.identity.membershipOf(owner.id, owner.tenantId);
  const entries = await node.store.inTenant(scope, (tx) =>
    tx.anyFirst(sql.unsafe`select actor || ' ' || action from audit_entries order by recorded_at`),
  );
  t.deepEqual(entries as readonly unknown[], [
    `user:${owner.id} user.registered`,
    `user:${owner.id} invite.created`,
    `user:${memberId} member.joined`,
    `user:${owner.id} member.role-changed`,
    `user:${owner.id} member.removed`,
  ]);
});
