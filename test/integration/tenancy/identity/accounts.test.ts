import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import type { Api, ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { type IdentityNode, startIdentityNode } from '../../../support/servers/identity.js';

const database = databaseOfFile(test);
let node: IdentityNode;
let neighbour: IdentityNode;
let api: Api;

test.before(async () => {
  [node, neighbour] = await Promise.all([startIdentityNode(database.url), startIdentityNode(database.url)]);
  database.atEnd(async () => void (await Promise.all([node.close(), neighbour.close()])));
  api = node.api;
});

const password = 'correct horse battery';
const freshEmail = (): string => `${randomUUID()}@example.com`;
const register = (email = freshEmail(), body: object = {}): Promise<ApiAnswer> =>
  api.post('/api/auth/register', { email, password, ...body });
const statusesOf = (answers: readonly ApiAnswer[]): readonly number[] =>
  answers.map(({ status }) => status).toSorted((one, other) => one - other);
/** Another node receives an end through the feed, a moment after the node that caused it. */
const refusedBy = (one: IdentityNode, token: string): Promise<true> =>
  eventually(async () => (await one.api.get('/api/auth/me', { token })).status === 401);

test('registering creates an account that owns a tenant on plan free, and signs it in', async (t) => {
  const email = freshEmail();
  const answer = await register(email, { name: 'Ada', tenant_name: 'Engines' });
  t.is(answer.status, 201);
  t.is(answer.at('success'), true);
  const id = answer.at('data.user.id');
  t.deepEqual(answer.at('data.user'), { id, email, name: 'Ada', email_verified: false });
  t.deepEqual(answer.at('data.tenants'), [
    { id: answer.at('data.tenants.0.id'), name: 'Engines', role: 'owner', plan: 'free' },
  ]);
  t.is(answer.at('data.token_type'), 'Bearer');
  t.is(answer.at('data.expires_in'), 3600);
  const me = await api.get('/api/auth/me', { token: answer.textAt('data.access_token') });
  t.is(me.status, 200);
  t.deepEqual(me.body, {
    success: true,
    data: { user: answer.at('data.user'), tenants: answer.at('data.tenants') },
  });
});

test('an address that differs only in case gets 409', async (t) => {
  const email = freshEmail();
  await register(email);
  const answer = await register(email.toUpperCase());
  t.is(answer.status, 409);
  t.is(answer.at('error'), 'conflict');
});

test('of concurrent registrations of one address exactly one succeeds, and one account remains', async (t) => {
  const email = freshEmail();
  const answers = await Promise.all([register(email), register(email), register(email), register(email)]);
  t.deepEqual(statusesOf(answers), [201, 409, 409, 409]);
  const login = await api.post('/api/auth/login', { email, password });
  t.is(login.status, 200);
  t.is((login.at('data.tenants') as unknown[]).length, 1);
});

test('an invalid registration is refused with the field', async (t) => {
  const cases: [object, string, string][] = [
    [{ password }, 'missing_required_field', 'email'],
    [{ email: freshEmail() }, 'missing_required_field', 'password'],
    [{ email: 'nobody', password }, 'validation_error', 'email'],
    [{ email: freshEmail(), password: 'ninechars' }, 'validation_error', 'password'],
    [{ email: freshEmail(), password: 'x'.repeat(513) }, 'validation_error', 'password'],
    [{ email: freshEmail(), password, name: 'a\nb' }, 'validation_error', 'name'],
    [{ email: freshEmail(), password: 12_345_678_901 }, 'validation_error', 'password'],
  ];
  for (const [body, code, field] of cases) {
    const answer = await api.post('/api/auth/register', body);
    t.is(answer.status, 400);
    t.is(answer.at('error'), code);
    t.is(answer.at('details.field'), field);
  }
});

test('signing in ignores the case of the address and answers like registering', async (t) => {
  const email = freshEmail();
  const made = await register(email);
  const answer = await api.post('/api/auth/login', { email: email.toUpperCase(), password });
  t.is(answer.status, 200);
  t.deepEqual(answer.at('data.user'), made.at('data.user'));
  t.deepEqual(answer.at('data.tenants'), made.at('data.tenants'));
});

test('a wrong password and an unknown account get the same answer', async (t) => {
  const email = freshEmail();
  await register(email);
  const wrong = await api.post('/api/auth/login', { email, password: 'not the password' });
  const unknown = await api.post('/api/auth/login', { email: freshEmail(), password });
  t.is(wrong.status, 401);
  t.is(wrong.at('error'), 'invalid_credentials');
  t.deepEqual(unknown.body, wrong.body);
  t.is(unknown.status, wrong.status);
});

test('the published keys verify an access token of another node', async (t) => {
  const made = await register();
  const jwks = await neighbour.api.get('/.well-known/jwks.json');
  t.is(jwks.status, 200);
  const { payload, protectedHeader } = await jwtVerify(
    made.textAt('data.access_token'),
    createLocalJWKSet(jwks.body as JSONWebKeySet),
  );
  t.is(protectedHeader.alg, 'EdDSA');
  t.is(payload.sub, made.textAt('data.user.id'));
  t.is((payload.exp ?? 0) - (payload.iat ?? 0), 3600);
  t.truthy(payload.jti);
  t.false(jwks.text.includes('"d"'), 'no private part is published');
  const me = await neighbour.api.get('/api/auth/me', { token: made.textAt('data.access_token') });
  t.is(me.status, 200);
});

test('a refresh token returns a new pair once; a second use ends the family on every node', async (t) => {
  const made = await register();
  const oldToken = made.textAt('data.refresh_token');
  const renewed = await api.post('/api/auth/refresh', { refresh_token: oldToken });
  t.is(renewed.status, 200);
  t.not(renewed.textAt('data.refresh_token'), oldToken);
  const token = renewed.textAt('data.access_token');
  t.is((await api.get('/api/auth/me', { token })).status, 200);
  t.is((await neighbour.api.get('/api/auth/me', { token })).status, 200);

  const replayed = await neighbour.api.post('/api/auth/refresh', { refresh_token: oldToken });
  t.is(replayed.status, 401);
  t.is(replayed.at('error'), 'invalid_token');
  const successor = await api.post('/api/auth/refresh', {
    refresh_token: renewed.textAt('data.refresh_token'),
  });
  t.is(successor.status, 401);
  t.is((await neighbour.api.get('/api/auth/me', { token })).status, 401);
  t.true(await refusedBy(node, token));
});

test('of many concurrent refreshes with one token at most one succeeds, and the family ends', async (t) => {
  for (let round = 0; round < 4; round += 1) {
    const made = await register();
    const body = { refresh_token: made.textAt('data.refresh_token') };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? node : neighbour).api.post('/api/auth/refresh', body),
      ),
    );
    t.deepEqual(statusesOf(answers), [200, ...Array.from({ length: 7 }, () => 401)]);
    const winner = answers.find(({ status }) => status === 200);
    const again = await api.post('/api/auth/refresh', {
      refresh_token: winner?.textAt('data.refresh_token'),
    });
    t.is(again.status, 401);
  }
});

test('signing out invalidates the access token and the refresh token at once', async (t) => {
  const made = await register();
  const token = made.textAt('data.access_token');
  const refreshToken = made.textAt('data.refresh_token');
  t.is((await api.get('/api/auth/me', { token })).status, 200);
  t.is((await neighbour.api.get('/api/auth/me', { token })).status, 200);
  const out = await api.post('/api/auth/logout', { refresh_token: refreshToken });
  t.deepEqual(out.body, { success: true, message: 'Signed out.' });
  t.is((await api.get('/api/auth/me', { token })).at('error'), 'invalid_token');
  t.true(await refusedBy(neighbour, token));
  t.is((await api.post('/api/auth/refresh', { refresh_token: refreshToken })).status, 401);
  t.is((await api.post('/api/auth/logout', { refresh_token: refreshToken })).status, 200);
  t.is((await api.post('/api/auth/logout', { refresh_token: 'never issued' })).status, 401);
});

test("signing out one family leaves the user's others alive", async (t) => {
  const email = freshEmail();
  const first = await register(email);
  const second = await api.post('/api/auth/login', { email, password });
  await api.post('/api/auth/logout', { refresh_token: first.textAt('data.refresh_token') });
  t.is((await api.get('/api/auth/me', { token: second.textAt('data.access_token') })).status, 200);
});

test('a changed, unsigned or invalid token is refused', async (t) => {
  const made = await register();
  const token = made.textAt('data.access_token');
  const [head = '', claims = '', signature = ''] = token.split('.');
  const forged = Buffer.from(claims, 'base64url')
    .toString()
    .replace(/"sub":"[^"]*"/, `"sub":"${randomUUID()}"`);
  const bad = [
    `${head}.${Buffer.from(forged).toString('base64url')}.${signature}`,
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`,
    'nonsense',
    'a.b.c',
    'x'.repeat(2_000),
  ];
  for (const one of bad) {
    const answer = await api.get('/api/auth/me', { token: one });
    t.is(answer.status, 401);
    t.is(answer.at('error'), 'invalid_token');
  }
  t.is((await api.get('/api/auth/me')).at('error'), 'authentication_required');
});

test('a disabled user is refused on every node, by token, by refresh and by password', async (t) => {
  const email = freshEmail();
  const made = await register(email);
  const token = made.textAt('data.access_token');
  t.is((await neighbour.api.get('/api/auth/me', { token })).status, 200);
  t.true(await neighbour.identity.accounts.disable(made.textAt('data.user.id'), 'operator'));
  t.is((await neighbour.api.get('/api/auth/me', { token })).status, 401);
  t.is(
    (await api.post('/api/auth/refresh', { refresh_token: made.textAt('data.refresh_token') })).status,
    401,
  );
  t.is((await api.post('/api/auth/login', { email, password })).at('error'), 'invalid_credentials');
  t.false(await node.identity.accounts.disable(randomUUID(), 'operator'));
});
