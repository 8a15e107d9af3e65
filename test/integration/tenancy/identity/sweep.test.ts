import test from 'ava';
import { createInvitationMails } from '../../../../src/tenancy/identity/invitation-mails.js';
import { createNewTenants } from '../../../../src/tenancy/identity/new-tenants.js';
import { createSignInLimits } from '../../../../src/tenancy/identity/sign-in-limits.js';
import { createTokenFamilies } from '../../../../src/tenancy/identity/token-families.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, secretRandom, startIdentityNode } from '../../../support/servers/identity.js';
import { type Person, registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
let node: IdentityNode;

test.before(async () => {
  node = await startIdentityNode(database.url);
  database.atEnd(() => node.close());
});

const dayMs = 86_400_000;
const tables = [
  'token_families',
  'refresh_tokens',
  'sign_in_failures',
  'new_tenants_by_address',
  'invitation_mails_by_address',
] as const;
const count = (table: (typeof tables)[number]): Promise<number> =>
  node.store.directory((tx) =>
    tx.oneFirst(sql.typeAlias('count')`select count(*) as count from ${sql.identifier([table])}`),
  );
const counts = async (): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await count(table)])));

function familiesAt(nowMs: number) {
  return createTokenFamilies({
    store: node.store,
    changes: node.changes,
    random: secretRandom,
    nowMs: () => nowMs,
    tokens: {
      mint: async () => '',
      mintForKey: async () => '',
      verify: () => Promise.reject(new Error('not asked for')),
    },
  });
}

/** Counts an invitation mail as a node with that clock does. */
async function countInvitation({ id, email, tenantId }: Person, nowMs: number): Promise<void> {
  const mails = createInvitationMails({ store: node.store, nowMs: () => nowMs, bounded: true });
  const { scope } = await node.identity.membershipOf(id, tenantId);
  await node.store.inTenant(scope, (tx) => mails.count(tx, email));
}

async function age(days: number): Promise<void> {
  const span = sql.fragment`${days} * interval '1 day'`;
  await node.store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`update token_families set expires_at = expires_at - ${span}`);
    await tx.query(sql.typeAlias('nothing')`update refresh_tokens set used_at = used_at - ${span}`);
  });
}

test.serial('families are kept while a token may be used, and removed a day after that', async (t) => {
  const families = familiesAt(Date.now());
  const person = await registerPerson(node.api);
  const renewed = await node.api.post('/api/auth/refresh', { refresh_token: person.refreshToken });
  await age(29);
  await families.sweep();
  t.is(await count('refresh_tokens'), 2, 'a used token is kept, so that a theft shows');
  const late = await families.refresh(renewed.textAt('data.refresh_token'));
  await age(3);
  await families.sweep();
  t.is(await count('token_families'), 1, 'the refresh prolonged it');
  t.is(await count('refresh_tokens'), 2, 'the first one was used too long ago');
  await age(27.5);
  await t.throwsAsync(families.refresh(late.refresh_token), { code: 'invalid_token' });
  await families.sweep();
  t.is(await count('token_families'), 1, 'expired half a day ago');
  await age(1);
  await families.sweep();
  t.is(await count('token_families'), 0);
  t.is(await count('refresh_tokens'), 0);
});

test.serial('a node whose clock is ahead removes neither sign-ins nor failures of today', async (t) => {
  const ahead = Date.now() + 400 * dayMs;
  const person = await registerPerson(node.api);
  await node.api.post('/api/auth/refresh', { refresh_token: person.refreshToken });
  const limits = createSignInLimits(node.store, Date.now);
  await limits.recordFailure({ email: 'eve@example.com', address: '192.0.2.9', client: undefined });
  await countInvitation(person, Date.now());
  const before = await counts();
  await familiesAt(ahead).sweep();
  await createSignInLimits(node.store, () => ahead).sweep();
  await createNewTenants(node.store, () => ahead).sweep();
  await createInvitationMails({ store: node.store, nowMs: () => ahead, bounded: true }).sweep();
  t.deepEqual(await counts(), before);
  t.true(
    Object.values(before).every((rows) => rows > 0),
    JSON.stringify(before),
  );
});

test.serial('failed sign-ins are removed once they no longer count', async (t) => {
  const failAgo = (minutes: number, email: string) =>
    createSignInLimits(node.store, () => Date.now() - minutes * 60_000).recordFailure({
      email,
      address: '192.0.2.1',
      client: undefined,
    });
  const before = await count('sign_in_failures');
  await failAgo(16, 'ada@example.com');
  await failAgo(14, 'eve@example.com');
  t.is(await count('sign_in_failures'), before + 4);
  await createSignInLimits(node.store, Date.now).sweep();
  t.is(await count('sign_in_failures'), before + 2);
});

test.serial('counts of invitations are removed when their day is over', async (t) => {
  const person = await registerPerson(node.api);
  const before = await count('invitation_mails_by_address');
  await countInvitation(person, Date.now() - 2 * dayMs);
  await countInvitation(person, Date.now() + dayMs);
  t.is(await count('invitation_mails_by_address'), before + 2);
  await createInvitationMails({ store: node.store, nowMs: Date.now, bounded: true }).sweep();
  t.is(await count('invitation_mails_by_address'), before + 1);
});
