// Verification of addresses, and forgotten passwords: the mails, their tokens and what a token does.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sql } from '../../../../src/infra/storage/index.js';
import type { ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { eventually } from '../../../support/clocks/eventually.js';
import {
  type IdentityNode,
  type ShiftedTime,
  shiftedTime,
  startIdentityNode,
} from '../../../support/servers/identity.js';
import { createMailFolder, type MailFolder } from '../../../support/servers/mail-folder.js';
import { linksTo, linkTo } from '../../../support/builders/account-mails.js';
import { type Person, registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
const time: ShiftedTime = shiftedTime();
const newPassword = 'another horse battery';
let folder: MailFolder;
let node: IdentityNode;
let neighbour: IdentityNode;

test.before(async () => {
  folder = await createMailFolder();
  const options = { time, verifyEmail: true, mailFolder: folder.path };
  [node, neighbour] = await Promise.all([
    startIdentityNode(database.url, options),
    startIdentityNode(database.url, options),
  ]);
  database.atEnd(async () => {
    await Promise.all([node.close(), neighbour.close()]);
    await folder.remove();
  });
});

const me = (token: string, at = node): Promise<ApiAnswer> => at.api.get('/api/auth/me', { token });
const verify = (token: string, at = node): Promise<ApiAnswer> => at.api.post('/api/auth/verify', { token });
const resend = ({ token }: Person, at = node): Promise<ApiAnswer> =>
  at.api.post('/api/auth/verify/resend', undefined, { token });
const forgot = (email: string, at = node): Promise<ApiAnswer> =>
  at.api.post('/api/auth/password/forgot', { email });
const reset = (token: string, password = newPassword, at = node): Promise<ApiAnswer> =>
  at.api.post('/api/auth/password/reset', { token, new_password: password });
const login = (email: string, password: string): Promise<ApiAnswer> =>
  node.api.post('/api/auth/login', { email, password });

async function resetToken(person: Person): Promise<string> {
  await forgot(person.email);
  return linkTo(folder, 'reset', person.email);
}

/** Requests that no node has answered, and mails that no node has sent. */
const waitingWork = (): Promise<number> =>
  node.store.directory((tx) =>
    tx.oneFirst(
      sql.typeAlias('count')`
        select (select count(*) from reset_requests)
          + (select count(*) from mails where sealed_content is not null) as count`,
    ),
  );

test.serial('a registration sends a link that verifies the address once', async (t) => {
  const person = await registerPerson(node.api);
  t.is((await me(person.token)).at('data.user.email_verified'), false);
  const token = await linkTo(folder, 'verify', person.email);
  t.is(Buffer.from(token, 'base64url').length, 32);
  const page = await node.api.get(`/verify?token=${token}`);
  t.true(page.text.includes(person.email), 'the page shows the address, and opening it uses nothing up');
  const answer = await verify(token, neighbour);
  t.is(answer.status, 200);
  t.like(answer.body, { success: true });
  t.is(typeof answer.at('message'), 'string');
  t.is((await me(person.token)).at('data.user.email_verified'), true);
  const again = await verify(token);
  t.is(again.status, 404);
  t.is(again.at('error'), 'not_found');
  t.is((await verify('unknown')).status, 404);
  const used = await node.api.get(`/verify?token=${token}`);
  t.false(used.text.includes(person.email));
  t.true(used.text.includes('was used'));
  t.false(used.text.includes('<form'));
});

test.serial('no table keeps a token', async (t) => {
  const person = await registerPerson(node.api);
  const tokens = [await linkTo(folder, 'verify', person.email), await resetToken(person)];
  const stored = await node.store.directory((tx) =>
    tx.any(sql.unsafe`
      select row_to_json(a)::text as whole from account_tokens a
      union all select row_to_json(m)::text from mails m where sent_at is not null`),
  );
  t.true(stored.length > 1);
  for (const token of tokens) t.false(JSON.stringify(stored).includes(token));
});

test.serial('a link to verify expires after 24 hours, not before', async (t) => {
  const [early, late] = [await registerPerson(node.api), await registerPerson(node.api)];
  const tokens = [
    await linkTo(folder, 'verify', early.email),
    await linkTo(folder, 'verify', late.email),
  ] as const;
  time.aheadMs += 24 * 3_600_000 - 60_000;
  t.is((await verify(tokens[0])).status, 200);
  time.aheadMs += 120_000;
  t.is((await verify(tokens[1])).status, 404);
});

test.serial(
  'five mails an hour are sent again, also by requests at once, and none for a verified address',
  async (t) => {
    const person = await registerPerson(node.api);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => resend(person, index % 2 === 0 ? node : neighbour)),
    );
    t.deepEqual(
      answers.map(({ status }) => status).toSorted((one, other) => one - other),
      [202, 202, 202, 202, 202, 429, 429, 429],
    );
    const refused = answers.find(({ status }) => status === 429);
    t.is(refused?.at('error'), 'rate_limit_exceeded');
    t.is(refused?.at('details.limit'), 5);
    await eventually(async () => (await linksTo(folder, 'verify', person.email)).length === 6);
    time.aheadMs += 3_600_000;
    const signedIn = await login(person.email, person.password);
    const again = { ...person, token: signedIn.textAt('data.access_token') };
    t.is((await resend(again)).status, 202);
    const links = await eventually(async () => {
      const found = await linksTo(folder, 'verify', person.email);
      return found.length === 7 ? found : undefined;
    });
    t.is((await verify(links[0] ?? '')).status, 200, 'an earlier link works too');
    t.is((await verify(links[6] ?? '')).status, 404, 'and the others have ended with it');
    t.is((await resend(again)).status, 202);
    t.is((await linksTo(folder, 'verify', person.email)).length, 7);
  },
);

test.serial('a forgotten password has the same answer and the same rows for every address', async (t) => {
  const person = await registerPerson(node.api);
  await linkTo(folder, 'verify', person.email);
  const known = await forgot(person.email);
  const unknown = await forgot(`${randomUUID()}@example.com`);
  const nonsense = await forgot('not an address');
  for (const answer of [known, unknown, nonsense]) {
    t.is(answer.status, 202);
    t.is(answer.text, known.text);
  }
  await linkTo(folder, 'reset', person.email);
  const count = (): Promise<number> =>
    node.store.directory((tx) =>
      tx.oneFirst(sql.typeAlias('count')`select count(*) as count from reset_requests`),
    );
  await eventually(async () => (await count()) === 0);
});

test.serial('a request makes the same statements whether the address has an account or not', async (t) => {
  const person = await registerPerson(node.api);
  // Requests wait while another transaction holds their table: the answer is given before anything looks at accounts.
  await node.store.directory(async (tx) => {
    await tx.query(sql.unsafe`lock table users in access exclusive mode`);
    const answers = await Promise.all([forgot(person.email), forgot(`${randomUUID()}@example.com`)]);
    t.deepEqual(
      answers.map(({ status }) => status),
      [202, 202],
    );
  });
  await linkTo(folder, 'reset', person.email);
});

test.serial('a new password ends every sign-in and verifies the address; its link works once', async (t) => {
  const person = await registerPerson(node.api);
  const other = (await login(person.email, person.password)).textAt('data.access_token');
  t.is((await me(other, neighbour)).status, 200);
  const token = await resetToken(person);
  t.is(Buffer.from(token, 'base64url').length, 32);
  const page = await node.api.get(`/reset?token=${token}`);
  t.true(page.text.includes(person.email));
  t.true((page.headers.get('content-security-policy') ?? '').includes("script-src 'sha256-"));
  t.is((await reset(token, 'short')).status, 400, 'a refused password does not use the link up');
  t.is((await reset(token)).status, 200);
  for (const bearer of [person.token, other]) t.is((await me(bearer)).at('error'), 'invalid_token');
  await eventually(async () => (await me(other, neighbour)).status === 401);
  const refreshed = await node.api.post('/api/auth/refresh', { refresh_token: person.refreshToken });
  t.is(refreshed.at('error'), 'invalid_token');
  t.is((await login(person.email, person.password)).at('error'), 'invalid_credentials');
  const signedIn = await login(person.email, newPassword);
  t.is(signedIn.at('data.user.email_verified'), true);
  const again = await reset(token);
  t.is(again.status, 404);
  t.is(again.at('error'), 'not_found');
});

test.serial('of two new passwords with one token at once, one counts', async (t) => {
  const person = await registerPerson(node.api);
  const token = await resetToken(person);
  const passwords = Array.from({ length: 6 }, (_, index) => `${newPassword} ${index}`);
  const answers = await Promise.all(
    passwords.map((password, index) => reset(token, password, index % 2 === 0 ? node : neighbour)),
  );
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 404, 404, 404, 404, 404],
  );
  const winner = passwords[answers.findIndex(({ status }) => status === 200)] ?? '';
  t.is((await login(person.email, winner)).status, 200);
});

test.serial('a link to a new password expires after an hour, and another one ends the earlier', async (t) => {
  const person = await registerPerson(node.api);
  const late = await resetToken(person);
  time.aheadMs += 3_600_000 + 1_000;
  t.is((await reset(late)).status, 404);
  await forgot(person.email);
  const links = await eventually(async () => {
    const found = await linksTo(folder, 'reset', person.email);
    return found.length === 2 ? found : undefined;
  });
  await forgot(person.email);
  const newer = await eventually(async () => (await linksTo(folder, 'reset', person.email))[2]);
  const fresh = links.find((link) => link !== late) ?? '';
  t.is((await reset(fresh)).status, 200);
  t.is((await reset(newer)).status, 404, 'a password that was just set is not replaced by an older request');
});

test.serial(
  'one account gets five such mails an hour, with the same answer for the sixth request',
  async (t) => {
    const person = await registerPerson(node.api);
    for (let index = 0; index < 7; index += 1) t.is((await forgot(person.email)).status, 202);
    const marker = await registerPerson(node.api);
    await resetToken(marker);
    // The neighbour may have taken one of them and be slower with it.
    await eventually(async () => (await waitingWork()) === 0, { what: 'all requests and mails are done' });
    t.is((await linksTo(folder, 'reset', person.email)).length, 5);
  },
);

test.serial('requests that two nodes answer at once count each other', async (t) => {
  const person = await registerPerson(node.api);
  for (let sent = 1; sent <= 4; sent += 1) {
    await forgot(person.email);
    await eventually(async () => (await linksTo(folder, 'reset', person.email)).length === sent);
  }
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const count = async (from: string): Promise<number> => {
    const { rows } = await owner.query<{ count: number }>(`select count(*)::int as count from ${from}`);
    return rows[0]?.count ?? 0;
  };
  const waiting = `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and query ~* 'insert into mails|from users'`;
  await node.store.directory(async (tx) => {
    // Both transactions stay open, one of them before its mail is queued.
    await tx.query(sql.unsafe`lock table mails in access exclusive mode`);
    await forgot(person.email, node);
    await eventually(async () => (await count(waiting)) === 1);
    await forgot(person.email, neighbour);
    await eventually(async () => (await count(waiting)) === 2);
  });
  await eventually(async () => (await count('reset_requests')) === 0);
  const tokens = `account_tokens join users on users.id = user_id
    where purpose = 'reset' and email = '${person.email}'`;
  t.is(await count(tokens), 5);
});

test.serial('a request that no node answered is answered by another, once', async (t) => {
  const person = await registerPerson(node.api);
  // As a process leaves it that dies between its commit and its mail.
  await node.store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`
      insert into reset_requests (email, requested_at) values (${person.email}, now())`),
  );
  const marker = await registerPerson(node.api);
  await Promise.all([forgot(marker.email, node), forgot(marker.email, neighbour)]);
  await linkTo(folder, 'reset', person.email);
  t.is((await linksTo(folder, 'reset', person.email)).length, 1);
});

test.serial('a request stays until its mail is recorded', async (t) => {
  const person = await registerPerson(node.api);
  const requests = (): Promise<number> =>
    node.store.directory((tx) =>
      tx.oneFirst(
        sql.typeAlias('count')`select count(*) as count from reset_requests where email = ${person.email}`,
      ),
    );
  await node.store.directory(async (tx) => {
    // The mail cannot be queued while this holds; the request's transaction waits, and is then cut off.
    await tx.query(sql.unsafe`lock table mails in access exclusive mode`);
    t.is((await forgot(person.email)).status, 202);
    t.is(await requests(), 1, 'uncommitted work has taken nothing');
  });
  await linkTo(folder, 'reset', person.email);
  await eventually(async () => (await requests()) === 0);
});

test.serial('a lost password leads past a delay that strangers caused', async (t) => {
  const person = await registerPerson(node.api);
  for (let attempt = 0; attempt < 10; attempt += 1) await login(person.email, 'wrong password');
  t.is((await login(person.email, person.password)).status, 429);
  t.is((await reset(await resetToken(person))).status, 200);
  t.is((await login(person.email, newPassword)).status, 200);
});
