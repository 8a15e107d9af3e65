// Reading a tenant's database: schema, discovery, connection test, their bounds and permissions.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  type DatabasesBench,
  placeOf,
  startDatabases,
  startShop,
} from '../../../support/servers/databases.js';
import { freePort } from '../../../support/servers/free-port.js';

const database = databaseOfFile(test);
let bench: DatabasesBench;

test.serial.before(async () => {
  bench = await startDatabases(database);
});

const path = '/api/database-configs';
const hourMs = 3_600_000;
type Table = { schema: string; name: string; full_name: string; row_count: number };

async function configured(place: object, settings: object = {}) {
  const person = bench.person(await bench.newTenant(), 'owner');
  const answer = await person.call('POST', path, { name: 'shop', connection_config: place, settings });
  if (answer.status !== 201) throw new Error(answer.text);
  const at = `${path}/${answer.body.data.id}`;
  return {
    at,
    person,
    refresh: () => person.call('POST', `${at}/refresh-schema`),
    freshness: async () => (await person.call('GET', `${at}/freshness`)).body,
  };
}

test('a refresh reads tables, views and columns with their types, and stores them', async (t) => {
  const { place } = await startShop(t);
  const { at, person, refresh } = await configured(place);
  const { status, body, text } = await refresh();
  t.is(status, 200, text);
  t.true(body.success);
  const names = body.schema.tables.map(({ schema, name }: Table) => `${schema}.${name}`);
  t.deepEqual(names, [
    'public.open_orders',
    'public.orders',
    'stock.items',
    'stock.moves',
    'stock.moves_2026',
  ]);
  t.deepEqual(body.schema.tables[1], {
    name: 'orders',
    schema: 'public',
    columns: [
      { name: 'id', type: 'bigint', nullable: false },
      { name: 'placed_at', type: 'timestamp with time zone', nullable: false },
      { name: 'note', type: 'character varying(20)', nullable: true },
    ],
  });
  const { data } = (await person.call('GET', at)).body;
  t.deepEqual(data.schema, body.schema);
  t.is(data.last_refresh, body.refreshed_at);
});

test('a refresh shows only the allowed tables, and none if none is allowed', async (t) => {
  const { place } = await startShop(t);
  const { at, person, refresh } = await configured(place, {
    allowed_tables: ['stock.items', 'public.missing', 'pg_catalog.pg_authid'],
  });
  const names = async () => (await refresh()).body.schema.tables.map(({ name }: Table) => name);
  t.deepEqual(await names(), ['items']);
  await person.call('PATCH', at, { settings: { allowed_tables: [] } });
  t.deepEqual(await names(), []);
});

test('a schema is fresh for 24 hours, and never if unread or from another database', async (t) => {
  const { place } = await startShop(t);
  const { at, person, refresh, freshness } = await configured(place);
  t.deepEqual(await freshness(), { success: true, needs_refresh: true, last_refresh: null, age_hours: null });
  const { refreshed_at } = (await refresh()).body;
  t.like(await freshness(), { success: true, needs_refresh: false, last_refresh: refreshed_at });
  bench.passMs(23.5 * hourMs);
  const later = await freshness();
  t.false(later.needs_refresh);
  t.true(later.age_hours >= 23.5 && later.age_hours < 24, String(later.age_hours));
  bench.passMs(0.5 * hourMs);
  t.true((await freshness()).needs_refresh);
  await refresh();
  t.false((await freshness()).needs_refresh);
  await person.call('PATCH', at, { name: 'renamed' });
  t.false((await freshness()).needs_refresh, 'another name is the same database');
  await person.call('PATCH', at, { settings: { allowed_tables: ['public.orders'] } });
  t.like(await freshness(), { needs_refresh: true, last_refresh: null });
});

test('the last given password signs in, and an omitted one stays', async (t) => {
  const shop = await startShop(t);
  const role = `troupe_test_reader_${process.pid}_${Date.now()}`;
  await shop.client.query(`create role ${role} login password 'first'`);
  t.teardown(async () => {
    await shop.client.query(
      `revoke all on stock.items from ${role}; revoke all on schema stock from ${role}; drop role ${role}`,
    );
  });
  const { at, person, refresh } = await configured({ ...shop.place, username: role, password: 'first' });
  t.is((await refresh()).status, 200);
  await person.call('PATCH', at, { description: 'the same password' });
  t.is((await refresh()).status, 200);
  await person.call('PATCH', at, { connection_config: { password: 'wrong sesame' } });
  const refused = await refresh();
  t.is(refused.status, 502, refused.text);
  t.like(refused.body, { error: 'provider_error', details: { provider: 'postgresql' } });
  t.regex(refused.body.details.original_error, /password authentication failed.*28P01/);
  t.false(refused.text.includes('sesame'));
  await shop.client.query(`grant usage on schema stock to ${role}; grant select on stock.items to ${role}`);
  const trial = (allowed_tables?: string[]) =>
    person.call('POST', '/api/db/test-postgres', {
      ...shop.place,
      username: role,
      password: 'first',
      ...(allowed_tables === undefined ? {} : { allowed_tables }),
    });
  t.like((await trial(['public.orders'])).body, { tested_table_accessible: false });
  t.like((await trial(['stock.items'])).body, { tested_table_accessible: true });
  t.like((await trial()).body, { tested_table: 'stock.items', tested_table_accessible: true });
});

test('a test connects, measures the time and reads the first allowed table', async (t) => {
  const { place } = await startShop(t);
  const person = bench.person(await bench.newTenant(), 'editor');
  const trial = async (fields: object) => {
    const { status, body, text } = await person.call('POST', '/api/db/test-postgres', {
      ...place,
      ...fields,
    });
    t.is(status, 200, text);
    t.deepEqual(Object.keys(body), ['success', 'latency_ms', 'tested_table', 'tested_table_accessible']);
    t.true(body.success);
    t.true(body.latency_ms >= 0 && body.latency_ms < 10_000);
    return [body.tested_table, body.tested_table_accessible];
  };
  t.deepEqual(await trial({ allowed_tables: ['stock.items', 'public.orders'] }), ['stock.items', true]);
  t.deepEqual(await trial({ allowed_tables: ['public.missing'] }), ['public.missing', false]);
  t.deepEqual(await trial({ allowed_tables: ['nowhere.orders'] }), ['nowhere.orders', false]);
  t.deepEqual(await trial({ allowed_tables: ['pg_catalog.pg_class'] }), ['pg_catalog.pg_class', false]);
  t.deepEqual(await trial({ allowed_tables: ['public.or"ders; drop table x'] }), [
    'public.or"ders; drop table x',
    false,
  ]);
  t.deepEqual(await trial({ allowed_tables: [] }), [null, false]);
  t.deepEqual(await trial({}), ['public.open_orders', true]);
  t.deepEqual(await trial({ allowed_tables: null }), ['public.open_orders', true]);
});

test('discovery lists schemas, tables with their row counts, and views, and waits for no lock', async (t) => {
  const { place, client } = await startShop(t);
  const person = bench.person(await bench.newTenant(), 'editor');
  const discover = (fields: object = {}) =>
    person.call('POST', '/api/db/discover-postgres-schema', { ...place, ...fields });
  const { status, body, text } = await discover();
  t.is(status, 200, text);
  t.true(body.success);
  t.is(typeof body.duration_ms, 'number');
  t.deepEqual(body.schemas, [
    {
      name: 'public',
      tables: [{ name: 'orders', full_name: 'public.orders', row_count: 250 }],
      views: [{ name: 'open_orders', full_name: 'public.open_orders' }],
    },
    {
      name: 'stock',
      tables: [
        { name: 'items', full_name: 'stock.items', row_count: 2 },
        { name: 'moves', full_name: 'stock.moves', row_count: 40 },
        { name: 'moves_2026', full_name: 'stock.moves_2026', row_count: 40 },
      ],
      views: [],
    },
  ]);
  const allowed = (await discover({ allowed_tables: ['stock.moves'] })).body.schemas;
  t.deepEqual(allowed, [
    { name: 'stock', tables: [{ name: 'moves', full_name: 'stock.moves', row_count: 40 }], views: [] },
  ]);
  t.deepEqual((await discover({ allowed_tables: [] })).body.schemas, []);
  // A lock on the tables would block their readers.
  await client.query('begin; lock table public.orders, stock.items, stock.moves in access exclusive mode');
  t.deepEqual((await discover()).body.schemas, body.schemas);
  await client.query('rollback');
});

test('discovery counts the rows of small tables, whatever PostgreSQL estimates', async (t) => {
  const { place, client } = await startShop(t);
  const person = bench.person(await bench.newTenant(), 'owner');
  const counts = async (): Promise<Record<string, number>> => {
    const { body } = await person.call('POST', '/api/db/discover-postgres-schema', place);
    const tables: Table[] = body.schemas.flatMap(({ tables: own }: { tables: Table[] }) => own);
    return Object.fromEntries(tables.map(({ full_name: name, row_count: rows }) => [name, rows]));
  };
  // The connection stays open, as that of a pool: PostgreSQL hears of its rows later.
  await client.query(`
    create schema "a ""b"" 'c'";
    create table "a ""b"" 'c'"."d\\e.F" as select n from generate_series(1, 7) n;
    insert into stock.items values ('nut', 0.03);
    delete from public.orders;
    create table stock.parent as select n from generate_series(1, 3) n;
    create table stock.child (more int) inherits (stock.parent);
    create table stock.many as select n from generate_series(1, 10050) n`);
  const { 'stock.many': many, ...small } = await counts();
  t.true(many === 10_001 || many === 10_050, 'PostgreSQL may have heard of its rows already');
  t.deepEqual(small, {
    [`a "b" 'c'.d\\e.F`]: 7,
    'public.orders': 0,
    'stock.child': 0,
    'stock.items': 3,
    'stock.moves': 40,
    'stock.moves_2026': 40,
    'stock.parent': 3,
  });
  await client.query('analyze stock.many; begin; lock table stock.items in access exclusive mode');
  const beside = { 'stock.items': 2, 'stock.parent': 3, 'public.orders': 0, 'stock.many': 10_050 };
  t.like(await counts(), beside, 'a locked table keeps its estimate, the others are counted');
  await client.query('rollback');
});

test('discovery counts no table that its user may not read, or reads only in part', async (t) => {
  const { place, client } = await startShop(t);
  const reader = `troupe_test_${randomUUID().replaceAll('-', '_')}`;
  await client.query(`
    create role ${reader} login password 'open sesame';
    grant usage on schema stock to ${reader};
    create table stock.shown as select n from generate_series(1, 5) n;
    create table stock.partly as select 1 as n;
    create table stock.hidden as select 1 as n;
    analyze stock.partly, stock.hidden;
    insert into stock.partly values (2), (3);
    insert into stock.hidden values (2), (3);
    alter table stock.partly enable row level security;
    grant select on stock.shown, stock.partly to ${reader}`);
  t.teardown(async () => {
    await client.query(`drop schema stock cascade; drop role ${reader}`);
  });
  const person = bench.person(await bench.newTenant(), 'owner');
  const { body, text } = await person.call('POST', '/api/db/discover-postgres-schema', {
    ...place,
    username: reader,
    password: 'open sesame',
    allowed_tables: ['stock.shown', 'stock.partly', 'stock.hidden'],
  });
  t.deepEqual(
    body.schemas?.[0]?.tables.map(({ name, row_count: rows }: Table) => [name, rows]),
    [
      ['hidden', 1],
      ['partly', 1],
      ['shown', 5],
    ],
    text,
  );
});

test('an unreachable database is a provider_error with the reason', async (t) => {
  const { place } = await startShop(t);
  const person = bench.person(await bench.newTenant(), 'owner');
  const cases: [object, RegExp][] = [
    [{ port: await freePort() }, /ECONNREFUSED/],
    [{ database: 'no_such_database' }, /database "no_such_database" does not exist \(3D000\)/],
    [{ ssl: true }, /does not offer TLS/],
    [{ host: 'nowhere.invalid' }, /was not found|could not be looked up/],
    [{ host: '127.0.0.2' }, /may not be reached from here/],
    [{ host: '169.254.169.254' }, /may not be reached from here/],
  ];
  for (const [fields, reason] of cases) {
    for (const name of ['test-postgres', 'discover-postgres-schema']) {
      const { status, body, text } = await person.call('POST', `/api/db/${name}`, { ...place, ...fields });
      t.is(status, 502, text);
      t.like(body, { error: 'provider_error', status: 'error', details: { provider: 'postgresql' } });
      t.regex(body.details.original_error, reason);
    }
  }
});

test('an invalid query is refused with its field', async (t) => {
  const person = bench.person(await bench.newTenant(), 'owner');
  const place = placeOf(database.url);
  const { password: _, ...withoutPassword } = place;
  const cases: [object, string, string?][] = [
    [{}, 'host', 'missing_required_field'],
    [withoutPassword, 'password', 'missing_required_field'],
    [{ ...place, password_secret_ref: 'x' }, 'password_secret_ref'],
    [{ ...withoutPassword, password_secret_ref: 'nothing' }, 'password_secret_ref'],
    [{ ...place, port: 70_000 }, 'port'],
    [{ ...place, sslmode: 'require' }, 'sslmode'],
    [{ ...place, allowed_tables: ['orders'] }, 'allowed_tables.0'],
  ];
  for (const [body, field, error = 'validation_error'] of cases) {
    const answer = await person.call('POST', '/api/db/test-postgres', body);
    t.is(answer.status, 400, JSON.stringify(body));
    t.like(answer.body, { error, details: { field } });
  }
});

test('an editor tests a secret only at hosts in its list', async (t) => {
  const { place } = await startShop(t);
  const scope = await bench.newTenant();
  const owner = bench.person(scope, 'owner');
  const editor = bench.person(scope, 'editor');
  const { password, ...rest } = place;
  const secret = (name: string, fields: object = {}) =>
    owner.call('POST', '/api/secrets', { name, value: password, kind: 'generic', ...fields });
  await secret('listed', { allowed_hosts: ['127.0.0.1'] });
  await secret('unlisted');
  const trial = (who: typeof owner, password_secret_ref: string) =>
    who.call('POST', '/api/db/test-postgres', { ...rest, password_secret_ref });
  t.is((await trial(editor, 'listed')).status, 200);
  const refused = await trial(editor, 'unlisted');
  t.is(refused.status, 403);
  t.like(refused.body, { error: 'insufficient_permissions', details: { field: 'password_secret_ref' } });
  t.is((await trial(owner, 'unlisted')).status, 200);
});

test('a narrowed list of hosts applies when the database is read', async (t) => {
  const { place } = await startShop(t);
  const scope = await bench.newTenant();
  const owner = bench.person(scope, 'owner');
  const editor = bench.person(scope, 'editor');
  const { password, ...rest } = place;
  const secret = { name: 'listed', value: password, kind: 'generic', allowed_hosts: ['127.0.0.1'] };
  const { id } = (await owner.call('POST', '/api/secrets', secret)).body.data;
  const made = await editor.call('POST', path, {
    name: 'shop',
    connection_config: { ...rest, password_secret_ref: 'listed' },
  });
  const refresh = () => editor.call('POST', `${path}/${made.body.data.id}/refresh-schema`);
  t.is((await refresh()).status, 200);
  await owner.call('PATCH', `/api/secrets/${id}`, { allowed_hosts: [] });
  t.is((await refresh()).status, 403);
});
