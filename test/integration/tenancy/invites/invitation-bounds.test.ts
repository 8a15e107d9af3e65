// Who may invite, and how many invitations an address gets.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sql } from '../../../../src/infra/storage/index.js';
import type { Invites } from '../../../../src/tenancy/invites/index.js';
import type { ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type Person, registerPerson } from '../../../support/builders/people.js';
import { type IdentityNode, publicUrl, shiftedTime } from '../../../support/servers/identity.js';
import { startInvitesNode } from '../../../support/servers/invites.js';
import { createMailFolder } from '../../../support/servers/mail-folder.js';

const database = databaseOfFile(test);
const dayMs = 86_400_000;
/** Does not verify addresses. */
let open: IdentityNode;
/** Nodes that verify addresses: at the next noon, so that no day ends during a test, and a day later. */
let strict: IdentityNode;
let strictNextDay: IdentityNode;
/** Of the strict node. */
let operatorsInvites: Pick<Invites, 'createByOperator'>;

test.before(async () => {
  const folder = await createMailFolder();
  const [noon, nextNoon] = [shiftedTime(), shiftedTime()];
  noon.aheadMs = (1.5 * dayMs - (Date.now() % dayMs)) % dayMs;
  nextNoon.aheadMs = noon.aheadMs + dayMs;
  const options = { folder, publicUrl };
  const onBook = (book: typeof operatorsInvites): void => void (operatorsInvites = book);
  [open, strict, strictNextDay] = await Promise.all([
    startInvitesNode(database.url, options),
    startInvitesNode(database.url, { ...options, time: noon, verifyEmail: true, onBook }),
    startInvitesNode(database.url, { ...options, time: nextNoon, verifyEmail: true }),
  ]);
  database.atEnd(async () => {
    await Promise.all([open, strict, strictNextDay].map((one) => one.close()));
    await folder.remove();
  });
});

const freshEmail = (): string => `${randomUUID()}@example.com`;

const invite = (by: Person, email: string, at = strict): Promise<ApiAnswer> =>
  at.api.post(`/api/tenants/${by.tenantId}/invites`, { email, role: 'member' }, { token: by.token });

const verified = async (one: Person): Promise<Person> => {
  await strict.store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`update users set email_verified_at = now() where id = ${one.id}`),
  );
  return one;
};

/** Invites and cancels, so that the address can be invited again. */
async function inviteBriefly(by: Person, email: string, at = strict): Promise<ApiAnswer> {
  const made = await invite(by, email, at);
  if (made.status !== 201) return made;
  const path = `/api/tenants/${by.tenantId}/invites/${made.textAt('data.id')}`;
  const cancelled = await at.api.delete(path, { token: by.token });
  if (cancelled.status !== 200) throw new Error(cancelled.text);
  return made;
}

async function invitesTo(email: string): Promise<{ readonly invites: number; readonly mails: number }> {
  return strict.store.directory(async (tx) => ({
    invites: await tx.oneFirst(
      sql.typeAlias('count')`select count(*) as count from invites where lower(email) = ${email}`,
    ),
    mails: await tx.oneFirst(
      sql.typeAlias('count')`select count(*) as count from mails where lower(recipient) = ${email}`,
    ),
  }));
}

test('where addresses are verified, a tenant without a verified owner invites nobody', async (t) => {
  const owner = await registerPerson(strict.api);
  const email = freshEmail();
  const refused = await invite(owner, email);
  t.is(refused.status, 403);
  t.is(refused.at('error'), 'email_unverified');
  t.deepEqual(await invitesTo(email), { invites: 0, mails: 0 });
  const { scope } = await strict.identity.membershipOf(owner.id, owner.tenantId);
  await operatorsInvites.createByOperator(scope, email, 'member');
  t.deepEqual(await invitesTo(email), { invites: 1, mails: 1 });
  const proved = await verified(await registerPerson(strict.api));
  t.is((await invite(proved, email)).status, 201);
});

test('where addresses are verified, an address gets five invitations a day from all tenants together', async (t) => {
  const one = await verified(await registerPerson(strict.api));
  const other = await verified(await registerPerson(strict.api));
  const email = freshEmail();
  for (let count = 0; count < 3; count += 1)
    t.is((await inviteBriefly(one, count === 0 ? email.toUpperCase() : email)).status, 201);
  t.is((await invite(other, email)).status, 201);
  for (let count = 0; count < 3; count += 1)
    t.is((await invite(other, email)).status, 409, 'it sends no mail');
  t.is((await inviteBriefly(one, email)).status, 201);
  const refused = await inviteBriefly(one, email);
  t.is(refused.status, 429);
  t.is(refused.at('error'), 'rate_limit_exceeded');
  t.is(refused.at('details.limit'), 5);
  const wait = Number(refused.headers.get('retry-after'));
  t.true(wait > 10 * 3_600 && wait <= 12 * 3_600, `${wait}`);
  t.deepEqual(await invitesTo(email), { invites: 5, mails: 5 });
  t.is((await inviteBriefly(one, freshEmail())).status, 201, 'another address');
  const { scope } = await strict.identity.membershipOf(one.id, one.tenantId);
  const byOperator = await operatorsInvites.createByOperator(scope, email, 'member');
  t.is(byOperator.email, email, 'the operator owns the mail server');
  const tomorrow = await verified(await registerPerson(strictNextDay.api));
  t.is((await invite(tomorrow, email, strictNextDay)).status, 201, 'the next day');
});

test('where addresses are not verified, no count of an address holds up an invitation', async (t) => {
  const owner = await registerPerson(open.api);
  const email = freshEmail();
  for (let count = 0; count < 7; count += 1) t.is((await inviteBriefly(owner, email, open)).status, 201);
  t.deepEqual(await invitesTo(email), { invites: 7, mails: 7 });
});

test('simultaneous invitations of an address by many tenants count each other', async (t) => {
  const owners = await Promise.all(
    Array.from({ length: 8 }, async () => verified(await registerPerson(strict.api))),
  );
  const email = freshEmail();
  const answers = await Promise.all(owners.map((owner) => invite(owner, email)));
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 201, 201, 201, 201, 429, 429, 429],
  );
  t.deepEqual(await invitesTo(email), { invites: 5, mails: 5 });
});
