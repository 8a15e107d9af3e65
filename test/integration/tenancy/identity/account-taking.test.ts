// An account registered with another person's address, after that person signs in.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { platformOf, logTo } from '../../../support/builders/platform.js';
import { systemTime } from '../../../../cluster/index.js';
import { createInvites } from '../../../../src/tenancy/invites/index.js';
import { createKeys, type Keys } from '../../../../src/tenancy/keys/index.js';
import { createMail } from '../../../../src/infra/mail/index.js';
import { openHotReads, sql } from '../../../../src/infra/storage/index.js';
import type { ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { type IdentityNode, startIdentityNode } from '../../../support/servers/identity.js';
import { createMailFolder, type MailFolder } from '../../../support/servers/mail-folder.js';
import { type OidcIssuer, oidcAudience, startOidcIssuer } from '../../../support/servers/oidc-issuer.js';
import { type Person, registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
const publicUrl = 'https://troupe.example.com';
let issuer: OidcIssuer;
let folder: MailFolder;
let node: IdentityNode;
let neighbour: IdentityNode;
let neighboursKeys: Keys;

test.before(async () => {
  [issuer, folder] = await Promise.all([startOidcIssuer(), createMailFolder()]);
  node = await startNode();
  neighbour = await startNode((keys) => {
    neighboursKeys = keys;
  });
  database.atEnd(async () => {
    await Promise.all([node.close(), neighbour.close()]);
    await Promise.all([issuer.close(), folder.remove()]);
  });
});

function startNode(onKeys: (keys: Keys) => void = () => undefined): Promise<IdentityNode> {
  return startIdentityNode(database.url, {
    outsideIssuer: { issuer: issuer.issuer, audience: oidcAudience },
    more: async ({ store, changes, sealer, identity, problems }) => {
      const report = (_attempted: string, error: unknown): void => void problems.push(error);
      const reads = openHotReads({ databaseUrl: database.url, time: systemTime });
      const platform = platformOf({ store, reads, changes, log: logTo(report) });
      const keys = createKeys(platform);
      onKeys(keys);
      const mail = createMail(platform, {
        sealer,
        outboxFolder: folder.path,
        publicUrl: () => publicUrl,
      });
      mail.start();
      const invites = createInvites(platform, {
        accounts: identity.accounts,
        mail,
        publicUrl: () => publicUrl,
        requireVerified: (scope, work) => identity.verifiedOwners.require(scope, work),
        countMail: (tx, email) => identity.invitationMails.count(tx, email),
      });
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
}

const me = (token: string, at = node): Promise<ApiAnswer> => at.api.get('/api/auth/me', { token });
const login = ({ email, password }: Person): Promise<ApiAnswer> =>
  node.api.post('/api/auth/login', { email, password });
/** A token of the real owner of the address. */
const tokenOf = (email: string, subject?: string): Promise<string> =>
  issuer.token({ email, email_verified: true }, subject === undefined ? {} : { subject });

function createKey(by: Person, role = 'admin', at = node): Promise<ApiAnswer> {
  const headers = { 'x-tenant-id': by.tenantId };
  return at.api.post('/api/keys', { name: 'a key', role }, { token: by.token, headers });
}

async function invite(by: Person, email: string, role: string): Promise<string> {
  const body = { email, role };
  const made = await node.api.post(`/api/tenants/${by.tenantId}/invites`, body, { token: by.token });
  if (made.status !== 201) throw new Error(made.text);
  const mail = await folder.mailWith(`To: ${email}`);
  return /token=([\w-]+)/.exec(mail)?.[1] ?? '';
}

/** A member with a separate account who joined by an invitation. */
async function joined(by: Person, role: string): Promise<Person> {
  const person = await registerPerson(node.api);
  const token = await invite(by, person.email, role);
  const answer = await node.api.post('/api/invites/accept', { token }, { token: person.token });
  if (answer.status !== 201) throw new Error(answer.text);
  return person;
}

const statusesOfKeys = async (token: string, tenantId: string): Promise<unknown> => {
  const listed = await node.api.get('/api/keys', { token, headers: { 'x-tenant-id': tenantId } });
  return (listed.at('data') as { status: string }[]).map(({ status }) => status);
};

test("the first sign-in of an address's owner removes the unverified password and every session on all nodes", async (t) => {
  const attacker = await registerPerson(node.api);
  for (const at of [node, neighbour])
    t.is((await me(attacker.token, at)).at('data.user.email_verified'), false);
  const token = await tokenOf(attacker.email);
  const mine = await me(token);
  t.is(mine.status, 200);
  t.like(mine.at('data.user'), { id: attacker.id, email_verified: true });
  t.is((await me(attacker.token)).at('error'), 'invalid_token');
  await eventually(async () => (await me(attacker.token, neighbour)).status === 401);
  const refresh = await node.api.post('/api/auth/refresh', { refresh_token: attacker.refreshToken });
  t.is(refresh.at('error'), 'invalid_token');
  t.is((await login(attacker)).at('error'), 'invalid_credentials');
  const { email, password } = attacker;
  t.is((await node.api.post('/api/auth/register', { email, password })).at('error'), 'conflict');
  t.is((await me(token, neighbour)).at('data.user.id'), attacker.id);
  const tenant = await node.api.get(`/api/tenants/${attacker.tenantId}`, { token });
  t.is(tenant.at('data.role'), 'owner', 'the tenant stays with the account');
});

test("in the account's tenants no key, invitation or other member remains", async (t) => {
  const attacker = await registerPerson(node.api);
  const accomplice = await joined(attacker, 'admin');
  const ended: string[] = [];
  t.teardown(neighboursKeys.onRevoked(({ keyId }) => ended.push(keyId)));
  const made = [
    await createKey(attacker),
    await createKey({ ...accomplice, tenantId: attacker.tenantId }, 'editor'),
  ];
  t.deepEqual(
    made.map(({ status }) => status),
    [201, 201],
  );
  const invitation = await invite(attacker, `${randomUUID()}@example.com`, 'admin');
  const token = await tokenOf(attacker.email);
  t.is((await me(token)).status, 200);
  t.deepEqual(await statusesOfKeys(token, attacker.tenantId), ['revoked', 'revoked']);
  await eventually(() => made.every((key) => ended.includes(key.textAt('data.id'))));
  const members = await node.api.get(`/api/tenants/${attacker.tenantId}/members`, { token });
  t.deepEqual(
    (members.at('data') as { user_id: string }[]).map(({ user_id: id }) => id),
    [attacker.id],
  );
  const theirs = await node.api.get(`/api/tenants/${attacker.tenantId}`, accomplice);
  t.is(theirs.at('error'), 'tenant_not_found');
  const body = { token: invitation, password: 'correct horse battery' };
  t.is((await node.api.post('/api/invites/accept', body)).at('error'), 'not_found');
  t.is((await me(accomplice.token)).status, 200, 'the account of whoever was removed is untouched');
});

test('a tenant with many keys is announced as a whole, and each key is revoked', async (t) => {
  const attacker = await registerPerson(node.api);
  const { id, tenantId } = attacker;
  t.is((await createKey(attacker)).status, 201);
  await node.store.inTenant((await node.identity.membershipOf(id, tenantId)).scope, async (tx) => {
    await tx.query(
      sql.typeAlias('nothing')`
        insert into api_keys (tenant_id, id, hash, prefix, suffix, name, role, rate_limit_per_minute, created_by,
          created_at)
        select ${tenantId}, gen_random_uuid(), sha256(('taken ' || n)::bytea), 'svc_live_', 'abcd', 'a key', 'member',
          60, ${`user:${id}`}, now()
        from generate_series(1, 200) as n`,
    );
    await tx.query(
      sql.typeAlias('nothing')`
        insert into api_key_use (tenant_id, key_id) select tenant_id, id from api_keys
        where tenant_id = ${tenantId} on conflict do nothing`,
    );
  });
  const token = await tokenOf(attacker.email);
  t.is((await me(token)).status, 200);
  const statuses = (await statusesOfKeys(token, tenantId)) as string[];
  t.is(statuses.length, 201);
  t.true(statuses.every((status) => status === 'revoked'));
  const topics = await node.store.directory((tx) =>
    tx.any(
      sql.type(z.object({ topic: z.string() }))`
        select topic from changes where about_tenant = ${tenantId} and number > (
          select max(number) from changes where topic = 'membership' and about_tenant = ${tenantId}) - 3
        order by number`,
    ),
  );
  t.deepEqual(
    topics.map(({ topic }) => topic),
    ['tenant', 'tenant-suspended', 'membership'],
  );
});

test('a tenant with another owner is left to that owner', async (t) => {
  const first = await registerPerson(node.api);
  const other = await joined(first, 'owner');
  const key = await createKey(first);
  const token = await tokenOf(first.email);
  t.deepEqual((await me(token)).at('data.tenants'), []);
  t.is((await node.api.get(`/api/tenants/${first.tenantId}`, { token })).at('error'), 'tenant_not_found');
  const kept = await node.api.get(`/api/tenants/${first.tenantId}`, other);
  t.is(kept.at('data.role'), 'owner');
  t.is(key.status, 201);
  t.deepEqual(await statusesOfKeys(other.token, first.tenantId), ['active']);
});

test('a person is identified by subject, whatever their current address', async (t) => {
  const [account, other] = [await registerPerson(node.api), await registerPerson(node.api)];
  const subject = randomUUID();
  t.is((await me(await tokenOf(account.email, subject))).at('data.user.id'), account.id);
  t.is((await me(await tokenOf(other.email, subject))).at('data.user.id'), account.id);
  t.is((await me(other.token)).status, 200, 'whoever has the new address here keeps their account');
  const unverified = await issuer.token({ email: other.email, email_verified: false }, { subject });
  t.is((await me(unverified)).at('data.user.id'), account.id);
  t.is((await me(await issuer.token({}, { subject }))).at('data.user.id'), account.id);
});

test('an address reassigned by the issuer opens no account of its former owner', async (t) => {
  const account = await registerPerson(node.api);
  t.is((await me(await tokenOf(account.email, randomUUID()))).status, 200);
  const successor = await me(await tokenOf(account.email, randomUUID()));
  t.is(successor.status, 401);
  t.is(successor.at('error'), 'invalid_token');
});

test('an account verified by an invitation keeps its password, its sessions and its keys', async (t) => {
  const host = await registerPerson(node.api);
  const person = await joined(host, 'editor');
  t.is((await me(person.token)).at('data.user.email_verified'), true);
  t.is((await createKey(person)).status, 201);
  const token = await tokenOf(person.email);
  t.is((await me(token)).at('data.user.id'), person.id);
  t.is((await me(person.token)).status, 200);
  t.is((await login(person)).at('data.user.email_verified'), true);
  t.deepEqual(await statusesOfKeys(token, person.tenantId), ['active']);
  t.is((await node.api.get(`/api/tenants/${host.tenantId}`, { token })).at('data.role'), 'editor');

  const newcomer = { email: `${randomUUID()}@example.com`, password: 'correct horse battery' };
  const accepted = await node.api.post('/api/invites/accept', {
    token: await invite(host, newcomer.email, 'member'),
    password: newcomer.password,
  });
  t.is(accepted.at('data.user.email_verified'), true);
  t.is((await me(await tokenOf(newcomer.email))).status, 200);
  t.is((await node.api.post('/api/auth/login', newcomer)).status, 200);
});

test('only the owner of an address joins by an invitation through the outside issuer, not an earlier registrant', async (t) => {
  const [host, squatter] = [await registerPerson(node.api), await registerPerson(node.api)];
  const token = await invite(host, squatter.email, 'admin');
  const owner = await tokenOf(squatter.email);
  const guess = await node.api.post('/api/invites/accept', { token, password: 'a password of the owner' });
  t.is(guess.at('error'), 'invalid_credentials', 'the account has a password that the owner does not know');
  const answer = await node.api.post('/api/invites/accept', { token }, { token: owner });
  t.is(answer.status, 201);
  t.is((await node.api.get(`/api/tenants/${host.tenantId}`, { token: owner })).at('data.role'), 'admin');
  t.is((await node.api.get(`/api/tenants/${host.tenantId}`, squatter)).at('error'), 'invalid_token');
  t.is((await login(squatter)).at('error'), 'invalid_credentials');
});

test('many concurrent first sign-ins on two nodes all succeed, and one links the account', async (t) => {
  const account = await registerPerson(node.api);
  const token = await tokenOf(account.email);
  const rival = await tokenOf(account.email, randomUUID());
  const answers = await Promise.all([node, neighbour, node, neighbour].map((at) => me(token, at)));
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  t.is((await me(rival)).status, 401);
  const links = await node.store.directory((tx) =>
    tx.any(
      sql.type(z.object({ issuer: z.string() }))`
        select issuer from outside_identities where user_id = ${account.id}`,
    ),
  );
  t.is(links.length, 1);
});

test('a sign-in by the unverified password during the removal leaves no session', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const attacker = await registerPerson(node.api);
    const token = await tokenOf(attacker.email);
    const [mine, ...theirs] = await Promise.all([
      me(token, neighbour),
      ...Array.from({ length: 6 }, () => login(attacker)),
    ]);
    t.is(mine.status, 200);
    for (const answer of theirs) {
      if (answer.status !== 200) continue;
      const access = answer.textAt('data.access_token');
      await eventually(async () => (await me(access)).status === 401);
    }
  }
});

test.serial('a key and an invitation created during the removal do not survive it', async (t) => {
  const attacker = await registerPerson(node.api);
  const token = await tokenOf(attacker.email);
  let requests: Promise<ApiAnswer[]> | undefined;
  await node.store.directory(async (tx) => {
    await tx.query(sql.unsafe`select 1 from tenants where id = ${attacker.tenantId} for update`);
    const taking = me(token, neighbour);
    t.true(await waiting(1));
    const email = `${randomUUID()}@example.com`;
    const made = node.api.post(
      `/api/tenants/${attacker.tenantId}/invites`,
      { email, role: 'admin' },
      { token: attacker.token },
    );
    requests = Promise.all([taking, createKey(attacker), made]);
    t.true(await waiting(3));
  });
  const [taking, key, invitation] = (await requests) ?? [];
  t.is(taking?.status, 200);
  t.is(key?.status, 401);
  t.is(invitation?.status, 401);
  t.deepEqual(await statusesOfKeys(token, attacker.tenantId), []);
});

/** So many wait for a lock in the database, which no other test uses just now. */
function waiting(count: number): Promise<boolean> {
  return eventually(async () => {
    const found = await neighbour.store.directory((tx) =>
      tx.oneFirst(
        sql.type(z.object({ count: z.number() }))`
          select count(distinct l.pid) as count
          from pg_locks l join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
          where not l.granted`,
      ),
    );
    return found >= count;
  });
}

test('the audit records what was removed, in the tenant and for the platform', async (t) => {
  const attacker = await registerPerson(node.api);
  const key = await createKey(attacker);
  await me(await tokenOf(attacker.email));
  const { scope } = await node.identity.membershipOf(attacker.id, attacker.tenantId);
  const entries = await node.store.inTenant(scope, (tx) =>
    tx.any(
      sql.type(z.object({ actor: z.string(), details: z.record(z.string(), z.unknown()) }))`
        select actor, details from audit_entries
        where tenant_id = ${attacker.tenantId} and action = 'tenant.taken-over'`,
    ),
  );
  t.is(entries.length, 1);
  t.is(entries[0]?.actor, `user:${attacker.id}`);
  t.like(entries[0]?.details, { keys_revoked: [key.at('data.id')], members_removed: [] });
});
