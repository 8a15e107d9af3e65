// What signed-in users change about their accounts, and who is delayed by wrong passwords.
import test from 'ava';
import { sql } from '../../../../src/infra/storage/index.js';
import type { ApiAnswer } from '../../../support/clients/api.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { type IdentityNode, shiftedTime, startIdentityNode } from '../../../support/servers/identity.js';
import { addMember, type Person, registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
const time = shiftedTime();
const newPassword = 'another horse battery';
let node: IdentityNode;
let neighbour: IdentityNode;

test.before(async () => {
  [node, neighbour] = await Promise.all([
    startIdentityNode(database.url, { time }),
    startIdentityNode(database.url, { time }),
  ]);
  database.atEnd(async () => void (await Promise.all([node.close(), neighbour.close()])));
});

/** Every request of these tests comes from one address, so each test starts with an empty window of it. */
test.beforeEach(() => {
  time.aheadMs += 16 * 60_000;
});

const me = (token: string, at = node): Promise<ApiAnswer> => at.api.get('/api/auth/me', { token });
const login = (body: object): Promise<ApiAnswer> => node.api.post('/api/auth/login', body);
const change = (token: string, current: string, next = newPassword): Promise<ApiAnswer> =>
  node.api.post('/api/auth/password', { current_password: current, new_password: next }, { token });
const remove = ({ token, password }: Person): Promise<ApiAnswer> =>
  node.api.delete('/api/auth/me', { body: { password }, token });

test.serial('a new password ends the other sign-ins on every node, and keeps this one', async (t) => {
  const person = await registerPerson(node.api);
  const other = await login({ email: person.email, password: person.password });
  const token = other.textAt('data.access_token');
  t.is((await me(token, neighbour)).status, 200);
  const wrong = await change(person.token, 'wrong password');
  t.is(wrong.status, 401);
  t.is(wrong.at('error'), 'invalid_credentials');
  t.is((await change(person.token, person.password)).status, 200);
  t.is((await me(token)).at('error'), 'invalid_token');
  await eventually(async () => (await me(token, neighbour)).status === 401);
  const ended = await node.api.post('/api/auth/refresh', {
    refresh_token: other.textAt('data.refresh_token'),
  });
  t.is(ended.at('error'), 'invalid_token');
  t.is((await me(person.token)).status, 200);
  t.is((await node.api.post('/api/auth/refresh', { refresh_token: person.refreshToken })).status, 200);
  t.is((await login({ email: person.email, password: person.password })).status, 401);
  t.is((await login({ email: person.email, password: newPassword })).status, 200);
});

test.serial('wrong current passwords count as failed sign-ins of the account', async (t) => {
  const person = await registerPerson(node.api);
  for (let attempt = 0; attempt < 10; attempt += 1) {
    t.is((await change(person.token, `wrong ${attempt}`)).status, 401);
  }
  t.is((await login({ email: person.email, password: person.password })).status, 429, 'strangers wait');
  t.is((await change(person.token, person.password)).status, 200, 'the signed-in user does not');
});

test.serial(
  'strangers with wrong passwords delay strangers, and no client that the account knows',
  async (t) => {
    const person = await registerPerson(node.api);
    const other = await registerPerson(node.api);
    const wrong = { email: person.email, password: 'wrong password' };
    for (let attempt = 0; attempt < 10; attempt += 1) t.is((await login(wrong)).status, 401);
    const right = { email: person.email, password: person.password };
    t.is((await login(right)).status, 429);
    const strangers = await login({ ...right, refresh_token: other.refreshToken });
    t.is(strangers.status, 429, 'a refresh token of another account makes nobody known');
    t.is((await login({ ...right, refresh_token: 'unknown' })).status, 429);
    const known = await login({ ...right, refresh_token: person.refreshToken });
    t.is(known.status, 200);
    await node.api.post('/api/auth/logout', { refresh_token: person.refreshToken });
    t.is(
      (await login({ ...right, refresh_token: person.refreshToken })).status,
      200,
      'nor after signing out',
    );
    const guess = await login({ ...wrong, refresh_token: person.refreshToken });
    t.is(guess.status, 401, 'a known client needs the password too');
  },
);

test.serial('signing out everywhere ends every token of the user on every node', async (t) => {
  const person = await registerPerson(node.api);
  const second = await login({ email: person.email, password: person.password });
  const tokens = [person.token, second.textAt('data.access_token')];
  for (const token of tokens) t.is((await me(token, neighbour)).status, 200);
  t.is((await node.api.post('/api/auth/logout-all', undefined, { token: person.token })).status, 200);
  for (const token of tokens) {
    t.is((await me(token)).status, 401);
    await eventually(async () => (await me(token, neighbour)).status === 401);
  }
  for (const refresh of [person.refreshToken, second.textAt('data.refresh_token')]) {
    t.is((await node.api.post('/api/auth/refresh', { refresh_token: refresh })).status, 401);
  }
  t.is((await login({ email: person.email, password: person.password })).status, 200);
});

test.serial('nobody can take the address that a deleted account would get', async (t) => {
  const person = await registerPerson(node.api);
  await addMember(node, person.tenantId, 'owner');
  const squatted = { email: `${person.id}@deleted.invalid`, password: 'correct horse battery' };
  t.is((await node.api.post('/api/auth/register', squatted)).status, 201);
  const removed = await remove(person);
  t.is(removed.status, 200, removed.text);
  t.is((await login({ email: person.email, password: person.password })).at('error'), 'invalid_credentials');
});

test.serial(
  'an account is deleted with its password, and not while a tenant would lose its last owner',
  async (t) => {
    const person = await registerPerson(node.api);
    const refused = await remove(person);
    t.is(refused.status, 409);
    t.is(refused.at('error'), 'conflict');
    t.deepEqual(refused.at('details.tenants'), [person.tenantId]);
    const heir = await addMember(node, person.tenantId, 'owner');
    const wrong = await remove({ ...person, password: 'wrong password' });
    t.is(wrong.status, 401);
    t.is(wrong.at('error'), 'invalid_credentials');
    t.is((await me(person.token, neighbour)).status, 200);
    t.is((await remove(person)).status, 200);
    t.is((await me(person.token)).status, 401);
    await eventually(async () => (await me(person.token, neighbour)).status === 401);
    t.is(
      (await login({ email: person.email, password: person.password })).at('error'),
      'invalid_credentials',
    );
    const members = await node.api.get(`/api/tenants/${person.tenantId}/members`, {
      token: heir.token,
      headers: { 'x-tenant-id': person.tenantId },
    });
    t.false(members.text.includes(person.id));
    const again = await node.api.post('/api/auth/register', {
      email: person.email,
      password: person.password,
    });
    t.is(again.status, 201, 'the address is free');
    t.not(again.at('data.user.id'), person.id);
  },
);

test.serial('of the last two owners who delete their accounts at once, one stays', async (t) => {
  const first = await registerPerson(node.api);
  const second = await addMember(node, first.tenantId, 'owner');
  // The tenants of their own would refuse the deletion.
  for (const { id } of [first, second]) {
    await node.store.directory((tx) =>
      tx.query(sql.typeAlias('nothing')`
        delete from memberships where user_id = ${id} and tenant_id <> ${first.tenantId}`),
    );
  }
  const answers = await Promise.all([remove(first), remove(second)]);
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 409],
  );
});
