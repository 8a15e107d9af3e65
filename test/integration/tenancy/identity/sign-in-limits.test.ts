import { randomUUID } from 'node:crypto';
import test from 'ava';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, shiftedTime, startIdentityNode } from '../../../support/servers/identity.js';

const database = databaseOfFile(test);
const time = shiftedTime();
let node: IdentityNode;
let neighbour: IdentityNode;

test.before(async () => {
  [node, neighbour] = await Promise.all([
    startIdentityNode(database.url, { time }),
    startIdentityNode(database.url, { time }),
  ]);
  database.atEnd(async () => void (await Promise.all([node.close(), neighbour.close()])));
});

const password = 'correct horse battery';
const freshEmail = (): string => `${randomUUID()}@example.com`;

/** Every request of these tests comes from one address, so each test starts with an empty window of it. */
test.beforeEach(() => {
  time.aheadMs += 16 * 60_000;
});

test.serial('the eleventh attempt after ten failures of an account gets 429 on every node', async (t) => {
  const email = freshEmail();
  await node.api.post('/api/auth/register', { email, password });
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const { api } = attempt % 2 === 0 ? node : neighbour;
    const answer = await api.post('/api/auth/login', { email, password: 'wrong password' });
    t.is(answer.status, 401);
  }
  for (const { api } of [node, neighbour]) {
    const refused = await api.post('/api/auth/login', { email: email.toUpperCase(), password });
    t.is(refused.status, 429);
    t.is(refused.at('error'), 'rate_limit_exceeded');
    t.is(refused.at('details.limit'), 10);
    t.is(refused.at('details.remaining'), 0);
    const retryAfter = Number(refused.headers.get('retry-after'));
    t.is(refused.at('details.retry_after'), retryAfter);
    t.is(refused.headers.get('x-ratelimit-limit'), '10');
    t.is(refused.headers.get('x-ratelimit-remaining'), '0');
    t.true(retryAfter > 800 && retryAfter <= 900);
    t.true(Math.abs(Number(refused.at('details.reset')) - (time.wallMs() / 1_000 + retryAfter)) < 3);
  }
  time.aheadMs += 15 * 60_000;
  t.is((await node.api.post('/api/auth/login', { email, password })).status, 200);
});

test.serial('concurrent guesses get no more answers than the limit allows', async (t) => {
  const email = freshEmail();
  await node.api.post('/api/auth/register', { email, password });
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      (index % 2 === 0 ? node : neighbour).api.post('/api/auth/login', { email, password: `guess ${index}` }),
    ),
  );
  const told = answers.filter(({ status }) => status === 401);
  t.is(told.length, 10);
  t.true(answers.every(({ status }) => status === 401 || status === 429));
});

test.serial('sixty failures from one address refuse its next sign-in to any account', async (t) => {
  const email = freshEmail();
  await node.api.post('/api/auth/register', { email, password });
  for (let batch = 0; batch < 6; batch += 1) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => node.api.post('/api/auth/login', { email: freshEmail(), password })),
    );
    t.true(answers.every(({ status }) => status === 401));
  }
  const refused = await neighbour.api.post('/api/auth/login', { email, password });
  t.is(refused.status, 429);
  t.is(refused.at('details.limit'), 60);
});

test.serial('successful sign-ins are not counted', async (t) => {
  const email = freshEmail();
  await node.api.post('/api/auth/register', { email, password });
  const answers = await Promise.all(
    Array.from({ length: 14 }, () => node.api.post('/api/auth/login', { email, password })),
  );
  t.true(answers.every(({ status }) => status === 200));
});

test.serial('addresses of one IPv6 network share their failures', async (t) => {
  const { accounts } = node.identity;
  const attempt = (host: number) => accounts.signIn(freshEmail(), 'wrong password', `2001:db8:1:2::${host}`);
  for (let host = 1; host <= 60; host += 1)
    await t.throwsAsync(attempt(host), { code: 'invalid_credentials' });
  await t.throwsAsync(attempt(61), { code: 'rate_limit_exceeded' });
  const elsewhere = accounts.signIn(freshEmail(), 'wrong password', '2001:db8:1:3::1');
  await t.throwsAsync(elsewhere, { code: 'invalid_credentials' });
});
