// Database configurations: creating, reading, changing, deleting, and their passwords.
import test from 'ava';
import pg from 'pg';
import { databaseOfFile } from '../../../support/database/database.js';
import { type DatabasesBench, type Person, startDatabases } from '../../../support/servers/databases.js';
import { dump, ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
let bench: DatabasesBench;

test.serial.before(async () => {
  bench = await startDatabases(database);
});

const path = '/api/database-configs';
const connection = {
  host: 'db.example.com',
  port: 5433,
  database: 'shop',
  username: 'reader',
  password: 'open sesame 1',
  ssl: true,
};
const wish = { name: 'shop', provider: 'postgresql', connection_config: connection };

async function somebody(role: 'owner' | 'editor' = 'owner'): Promise<Person> {
  return bench.person(await bench.newTenant(), role);
}

async function made(person: Person, fields: object = {}): Promise<string> {
  const { status, body, text } = await person.call('POST', path, { ...wish, ...fields });
  if (status !== 201) throw new Error(text);
  return String(body.data.id);
}

test('a configuration is created, read and listed in the specified forms, without its password', async (t) => {
  const person = await somebody();
  const created = await person.call('POST', path, {
    ...wish,
    description: 'the shop',
    settings: { allowed_tables: ['public.orders'] },
    is_primary: true,
  });
  t.is(created.status, 201, created.text);
  const { password: _, ...shown } = connection;
  t.like(created.body, {
    success: true,
    data: {
      name: 'shop',
      description: 'the shop',
      provider: 'postgresql',
      settings: { allowed_tables: ['public.orders'] },
      is_primary: true,
      is_active: true,
      schema: null,
      last_refresh: null,
    },
  });
  t.deepEqual(created.body.data.connection_config, shown);
  const { id, created_at } = created.body.data;
  const read = await person.call('GET', `${path}/${id}`);
  t.is(read.status, 200);
  t.deepEqual(read.body, created.body);
  const listed = await person.call('GET', path);
  const row = { id, name: 'shop', provider: 'postgresql', is_primary: true, is_active: true, created_at };
  t.deepEqual(listed.body, { success: true, data: [row], count: 1 });
  for (const { text } of [created, read, listed]) t.false(text.includes('sesame'));
});

test('a configuration that was read can be sent back without a change', async (t) => {
  const person = await somebody();
  const id = await made(person, { settings: { allowed_tables: ['a.b'] } });
  const { updated_at: _, ...before } = (await person.call('GET', `${path}/${id}`)).body.data;
  const answer = await person.call('PATCH', `${path}/${id}`, before);
  t.is(answer.status, 200, answer.text);
  const { updated_at: __, ...after } = answer.body.data;
  t.deepEqual(after, before);
});

test('defaults are filled in: port 5432, no TLS, active, not primary, all tables', async (t) => {
  const person = await somebody();
  const { host, database: name, username, password } = connection;
  const small = { host, database: name, username, password };
  const answer = await person.call('POST', path, { name: 'small', connection_config: small });
  t.is(answer.status, 201, answer.text);
  t.like(answer.body.data, {
    description: '',
    provider: 'postgresql',
    connection_config: { port: 5432, ssl: false },
    settings: {},
    is_primary: false,
    is_active: true,
  });
});

test('a patch merges: an omitted field stays, null resets one to its default', async (t) => {
  const person = await somebody();
  const id = await made(person, { settings: { allowed_tables: ['a.b'] }, description: 'old' });
  const patch = async (body: object) => (await person.call('PATCH', `${path}/${id}`, body)).body.data;
  t.like(await patch({ name: 'renamed', connection_config: { port: 6000 } }), {
    name: 'renamed',
    description: 'old',
    connection_config: { host: 'db.example.com', port: 6000, database: 'shop', ssl: true },
    settings: { allowed_tables: ['a.b'] },
  });
  t.like(await patch({ settings: { allowed_tables: [] }, description: null, is_active: false }), {
    settings: { allowed_tables: [] },
    description: '',
    is_active: false,
  });
  t.deepEqual((await patch({ settings: { allowed_tables: null } })).settings, {});
});

test('an invalid body is refused with its field', async (t) => {
  const person = await somebody();
  const config = (fields: object) => ({ ...wish, connection_config: { ...connection, ...fields } });
  const { password: _, ...withoutPassword } = connection;
  const cases: [object, string, string?][] = [
    [{ ...wish, provider: 'mysql' }, 'provider'],
    [{ ...wish, provider: 7 }, 'provider'],
    [{ name: 'x' }, 'connection_config', 'missing_required_field'],
    [{ connection_config: connection }, 'name', 'missing_required_field'],
    [{ ...wish, connection_config: withoutPassword }, 'connection_config.password', 'missing_required_field'],
    [config({ host: undefined }), 'connection_config.host', 'missing_required_field'],
    [config({ host: null }), 'connection_config.host', 'missing_required_field'],
    [config({ database: null, username: null }), 'connection_config.database', 'missing_required_field'],
    [config({ username: undefined }), 'connection_config.username', 'missing_required_field'],
    [config({ hots: 'db.example.com', host: undefined }), 'connection_config.hots'],
    [config({ host: 'a b' }), 'connection_config.host'],
    [config({ host: '/var/run/postgresql' }), 'connection_config.host'],
    [config({ host: '10.0.0.1' }), 'connection_config.host'],
    [config({ host: '169.254.169.254' }), 'connection_config.host'],
    [config({ port: 0 }), 'connection_config.port'],
    [config({ port: '5432' }), 'connection_config.port'],
    [config({ username: 'a\u0001b' }), 'connection_config.username'],
    [config({ sslmode: 'require' }), 'connection_config.sslmode'],
    [config({ password_secret_ref: 'x' }), 'connection_config.password_secret_ref'],
    [
      config({ password: undefined, password_secret_ref: 'nothing' }),
      'connection_config.password_secret_ref',
    ],
    [
      config({ password: undefined, vault_secret_id: '018f0000-0000-7000-8000-000000000001' }),
      'connection_config.vault_secret_id',
    ],
    [{ ...wish, settings: { allowed_tables: ['orders'] } }, 'settings.allowed_tables.0'],
    [{ ...wish, settings: { allowed_tables: 'public.orders' } }, 'settings.allowed_tables'],
    [{ ...wish, settings: { allowed_table: [] } }, 'settings.allowed_table'],
    [{ ...wish, is_primary: 'yes' }, 'is_primary'],
  ];
  for (const [body, field, error = 'validation_error'] of cases) {
    const answer = await person.call('POST', path, body);
    t.is(answer.status, 400, JSON.stringify(body));
    t.like(answer.body, { error, status: 'error', details: { field } }, answer.text);
  }
  t.is((await person.call('GET', path)).body.count, 0, 'nothing of it was stored');
});

test('lists omit deleted or inactive entries when asked, and come in pages', async (t) => {
  const person = await somebody();
  const [one, two, three] = [
    await made(person, { name: 'one' }),
    await made(person, { name: 'two', is_active: false }),
    await made(person, { name: 'three' }),
  ];
  await person.call('DELETE', `${path}/${three}`);
  const ids = async (query: string) =>
    (await person.call('GET', `${path}${query}`)).body.data.map(({ id }: { id: string }) => id);
  t.deepEqual((await ids('')).toSorted(), [one, two].toSorted());
  t.deepEqual((await ids('?includeDeleted=true')).toSorted(), [one, two, three].toSorted());
  t.deepEqual(await ids('?activeOnly=true'), [one]);
  t.deepEqual(await ids('?activeOnly=true&includeDeleted=true'), [one], 'a deleted one is not active');
  const first = (await person.call('GET', `${path}?limit=1`)).body;
  t.is(first.count, 1);
  const rest = (await person.call('GET', `${path}?cursor=${first.next_cursor}`)).body;
  t.is(rest.count, 1);
  t.is(rest.next_cursor, null);
  const paged: string[] = [first.data[0].id, rest.data[0].id];
  t.deepEqual(paged.toSorted(), [one, two].toSorted());
  t.is((await person.call('GET', `${path}?limit=0`)).status, 400);
  t.is((await person.call('GET', `${path}?includeDeleted=maybe`)).status, 400);
});

test('a new primary replaces the previous one, also if many become it at once', async (t) => {
  const person = await somebody();
  const first = await made(person, { is_primary: true });
  const second = await made(person);
  await person.call('PATCH', `${path}/${second}`, { is_primary: true });
  t.false((await person.call('GET', `${path}/${first}`)).body.data.is_primary);
  t.true((await person.call('GET', `${path}/${second}`)).body.data.is_primary);
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => person.call('POST', path, { ...wish, is_primary: true })),
    ...[first, second].map((id) => person.call('PATCH', `${path}/${id}`, { is_primary: true })),
  ]);
  t.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201, 201, 200, 200],
  );
  const { data } = (await person.call('GET', path)).body;
  t.is(data.filter((row: { is_primary: boolean }) => row.is_primary).length, 1);
});

test('only the list with deleted entries shows a deleted configuration, and its password is gone', async (t) => {
  const scope = await bench.newTenant();
  const person = bench.person(scope, 'owner');
  const id = await made(person, { is_primary: true });
  const owner = new pg.Client({ connectionString: database.url, options: '-c role=troupe_app' });
  await owner.connect();
  t.teardown(() => owner.end());
  await owner.query("select set_config('troupe.tenant_id', $1, false)", [scope.tenantId]);
  const kept = async () =>
    (await owner.query('select (select count(*) from secrets) + (select count(*) from secret_versions) as n'))
      .rows[0].n;
  t.is(await kept(), '2');
  const deleted = await person.call('DELETE', `${path}/${id}`);
  t.is(deleted.status, 200);
  t.deepEqual(Object.keys(deleted.body).toSorted(), ['message', 'success']);
  t.is(await kept(), '0');
  for (const [method, suffix, body] of [
    ['GET', ''],
    ['PATCH', '', {}],
    ['DELETE', ''],
    ['POST', '/refresh-schema'],
    ['GET', '/freshness'],
  ] as const) {
    const answer = await person.call(method, `${path}/${id}${suffix}`, body);
    t.is(answer.status, 404, `${method} ${suffix}`);
    t.is(answer.body.error, 'not_found');
  }
  const [row] = (await person.call('GET', `${path}?includeDeleted=true`)).body.data;
  t.like(row, { id, is_primary: false, is_active: false });
  t.is(typeof row.deleted_at, 'string');
});

test("another tenant's configurations do not exist", async (t) => {
  const id = await made(await somebody());
  const stranger = await somebody();
  t.is((await stranger.call('GET', `${path}/${id}`)).status, 404);
  t.is((await stranger.call('PATCH', `${path}/${id}`, { name: 'mine' })).status, 404);
  t.is((await stranger.call('DELETE', `${path}/${id}`)).status, 404);
  t.is((await stranger.call('POST', `${path}/${id}/refresh-schema`)).status, 404);
  t.is((await stranger.call('GET', path)).body.count, 0);
});

test('a password changes from a stored one to a secret and back, and unused ones are removed', async (t) => {
  const scope = await bench.newTenant();
  const person = bench.person(scope, 'owner');
  const secret = { name: 'shop-password', value: 'from the vault', kind: 'generic' };
  const secretId = (await person.call('POST', '/api/secrets', secret)).body.data.id;
  const id = await made(person);
  const patch = async (connection_config: object) => {
    const answer = await person.call('PATCH', `${path}/${id}`, { connection_config });
    t.is(answer.status, 200, answer.text);
    const { password_secret_ref: name, vault_secret_id: by } = answer.body.data.connection_config;
    return [name, by];
  };
  t.deepEqual(await patch({ password_secret_ref: 'shop-password' }), ['shop-password', undefined]);
  const uses = async () => (await person.call('GET', `/api/secrets/${secretId}`)).body.data.references;
  t.deepEqual(await uses(), [{ type: 'database_config', id, name: 'shop' }]);
  t.is((await person.call('DELETE', `/api/secrets/${secretId}`)).status, 409);
  t.deepEqual(await patch({ vault_secret_id: secretId }), [undefined, secretId]);
  t.is((await uses()).length, 1);
  t.deepEqual(await patch({ password: 'own again' }), [undefined, undefined]);
  t.deepEqual(await uses(), []);
  const gone = await person.call('PATCH', `${path}/${id}`, {
    connection_config: { password: null, password_secret_ref: null },
  });
  t.is(gone.status, 200, 'an own password that nothing replaces stays');
  await patch({ password_secret_ref: 'shop-password' });
  const refused = await person.call('PATCH', `${path}/${id}`, {
    connection_config: { password_secret_ref: null },
  });
  t.is(refused.body.error, 'missing_required_field');
});

test('an editor names a secret only for hosts in its list, or approved by an owner here', async (t) => {
  const scope = await bench.newTenant();
  const owner = bench.person(scope, 'owner');
  const editor = bench.person(scope, 'editor');
  await owner.call('POST', '/api/secrets', {
    name: 'listed',
    value: 'v',
    kind: 'generic',
    allowed_hosts: ['db.example.com'],
  });
  await owner.call('POST', '/api/secrets', { name: 'own', value: 'v', kind: 'generic' });
  const { password: _, ...place } = connection;
  const create = (host: string, password_secret_ref: string, who = editor) =>
    who.call('POST', path, { ...wish, connection_config: { ...place, host, password_secret_ref } });
  t.is((await create('db.example.com', 'listed')).status, 201);
  for (const [host, name] of [
    ['evil.example.com', 'listed'],
    ['db.example.com', 'own'],
  ] as const) {
    const refused = await create(host, name);
    t.is(refused.status, 403);
    t.like(refused.body, {
      error: 'insufficient_permissions',
      details: { field: 'connection_config.password_secret_ref' },
    });
  }
  const id = (await create('db.example.com', 'own', owner)).body.data.id;
  const patch = (connection_config: object, who = editor) =>
    who.call('PATCH', `${path}/${id}`, { connection_config });
  t.is((await patch({ username: 'other' })).status, 200, 'the owner approved this place');
  t.is((await patch({ port: 6000 })).status, 403, 'another port is another place');
  t.is((await patch({ ssl: false })).status, 403, 'and so is the same without TLS');
  t.is((await patch({ host: 'evil.example.com' })).status, 403);
  t.is((await patch({ host: 'new.example.com' }, owner)).status, 200);
  t.is((await patch({ host: 'db.example.com' })).status, 403, 'approved before, and no longer');
});

test('an editor who changes the host must give the password again', async (t) => {
  const editor = await somebody('editor');
  const id = await made(editor);
  const patch = (connection_config: object) => editor.call('PATCH', `${path}/${id}`, { connection_config });
  const refused = await patch({ host: 'evil.example.com' });
  t.is(refused.status, 403);
  t.like(refused.body, { details: { field: 'connection_config.host' } });
  t.is((await patch({ host: 'evil.example.com', password: 'known to me' })).status, 200);
  t.is((await patch({ username: 'other' })).status, 200);
  t.is((await patch({ port: 5434 })).status, 403);
  t.is((await patch({ ssl: false })).status, 403);
  t.is((await patch({ ssl: false, password: 'known to me' })).status, 200);
});

test('an editor cannot turn off TLS for a secret unless its list allows it', async (t) => {
  const scope = await bench.newTenant();
  const owner = bench.person(scope, 'owner');
  const editor = bench.person(scope, 'editor');
  const secret = {
    name: 'listed',
    value: 'v',
    kind: 'generic',
    allowed_hosts: ['db.example.com', '127.0.0.1'],
  };
  await owner.call('POST', '/api/secrets', secret);
  const { password: _, ...place } = connection;
  const create = (fields: object) =>
    editor.call('POST', path, {
      ...wish,
      connection_config: { ...place, password_secret_ref: 'listed', ...fields },
    });
  t.is((await create({ ssl: false })).status, 403);
  t.is((await create({ ssl: false, host: '127.0.0.1' })).status, 201, 'that does not leave the machine');
  const created = await create({});
  t.is(created.status, 201, created.text);
  const patch = (connection_config: object, who = editor) =>
    who.call('PATCH', `${path}/${created.body.data.id}`, { connection_config });
  t.is((await patch({ port: 6000 })).status, 200, 'the list names hosts, not ports');
  t.is((await patch({ ssl: false })).status, 403);
  t.is((await patch({ ssl: false }, owner)).status, 200);
  t.is((await patch({ username: 'other' })).status, 200);
});

test('approvals from before destinations were stored stay valid, and an editor cannot move them', async (t) => {
  const scope = await bench.newTenant();
  const owner = bench.person(scope, 'owner');
  const editor = bench.person(scope, 'editor');
  const inTheClear = { ...connection, ssl: false };
  const id = await made(owner, { connection_config: inTheClear });
  const view = await ownerView(database.url);
  t.teardown(() => view.end());
  await view.query('update database_configs set approved_place = null where id = $1', [id]);
  const patch = (connection_config: object, who = editor) =>
    who.call('PATCH', `${path}/${id}`, { connection_config });
  t.is((await patch({ username: 'other' })).status, 200);
  t.is((await patch({ port: 6000 })).status, 403);
  t.is((await patch({ ssl: true })).status, 403, 'nobody knows that TLS was approved on this port');
  t.is((await patch({ ssl: true, port: 5432 })).status, 200, 'TLS on the usual port was');
  t.is((await patch({ ssl: false })).status, 403);
});

test("the id of another configuration's private value names no secret", async (t) => {
  const scope = await bench.newTenant();
  const person = bench.person(scope, 'owner');
  await made(person);
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const { rows } = await owner.query(
    'select own_secret_id as id from database_configs where tenant_id = $1',
    [scope.tenantId],
  );
  const { password: _, ...place } = connection;
  const answer = await person.call('POST', path, {
    ...wish,
    connection_config: { ...place, vault_secret_id: rows[0].id },
  });
  t.is(answer.status, 400, answer.text);
  t.false((await dump(owner)).includes('sesame'), 'and no password lies open in the database');
});
