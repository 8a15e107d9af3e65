// The interface for longer reads of a configured database.
import test from 'ava';
import { databaseOfFile } from '../../../support/database/database.js';
import { type DatabasesBench, startDatabases, startShop } from '../../../support/servers/databases.js';
import { eventually } from '../../../support/clocks/eventually.js';

const database = databaseOfFile(test);
let bench: DatabasesBench;

test.serial.before(async () => {
  bench = await startDatabases(database);
});

async function shopReader(t: { teardown(fn: () => Promise<void>): void }, fields: object = {}) {
  const shop = await startShop(t);
  const scope = await bench.newTenant();
  const person = bench.person(scope, 'owner');
  const answer = await person.call('POST', '/api/database-configs', {
    name: 'shop',
    connection_config: shop.place,
    ...fields,
  });
  const id = String(answer.body.data.id);
  const reader = await bench.databases.connect(scope, id);
  t.teardown(() => reader.close());
  return { ...shop, scope, person, id, reader };
}

test('rows are read as PostgreSQL writes them, up to the requested number', async (t) => {
  const { reader } = await shopReader(t);
  const text = 'select id, placed_at, note from public.orders where id > $1 order by id';
  const first = await reader.select(text, ['247'], { rowsMax: 2 });
  t.deepEqual(first, {
    columns: ['id', 'placed_at', 'note'],
    rows: [
      { id: '248', placed_at: '2026-01-01 10:00:00.123456+00', note: 'order 248' },
      { id: '249', placed_at: '2026-01-01 10:00:00.123456+00', note: 'order 249' },
    ],
    more: true,
  });
  const last = await reader.select(text, [first.rows.at(-1)?.['id'] ?? ''], { rowsMax: 2 });
  t.deepEqual([last.rows.map(({ id }) => id), last.more], [['250'], false]);
  const cursor = await reader.select(
    'select count(*) as n from public.orders where placed_at > $1',
    [first.rows[0]?.['placed_at'] ?? ''],
    { rowsMax: 1 },
  );
  t.deepEqual(cursor.rows, [{ n: '0' }], 'a value that was read can be sent back without loss');
});

test('concurrent queries are answered one after the other', async (t) => {
  const { reader } = await shopReader(t);
  const answers = await Promise.all(
    [1, 2, 3, 4].map((n) => reader.select('select $1::int as n', [String(n)], { rowsMax: 1 })),
  );
  t.deepEqual(
    answers.map(({ rows }) => rows[0]?.['n']),
    ['1', '2', '3', '4'],
  );
});

test('nothing can be written, also not by a function', async (t) => {
  const { reader, client } = await shopReader(t);
  await client.query(`
    create function sneak() returns int language sql volatile as 'insert into stock.items values (''x'', 1) returning 1';
    create sequence numbers`);
  for (const text of [
    'select sneak()',
    "select nextval('numbers')",
    "select set_config('transaction_read_only', 'off', false)",
    'delete from stock.items returning name',
    'select 1) as x; drop table stock.items; select * from (select 1',
  ]) {
    await t.throwsAsync(reader.select(text, [], { rowsMax: 1 }), { name: 'DatabaseError' }, text);
  }
  const { rows } = await reader.select('select count(*) as n from stock.items', [], { rowsMax: 1 });
  t.deepEqual(rows, [{ n: '2' }], 'and a question that failed does not spoil the next one');
});

test('a statement with too large a result ends the connection and reports it', async (t) => {
  const { reader } = await shopReader(t);
  const text = "select repeat('x', 100000) as x from generate_series(1, 100)";
  await t.throwsAsync(reader.select(text, [], { rowsMax: 100 }), {
    name: 'DatabaseError',
    message: /more bytes than may be read at once/,
  });
  await reader.closed;
  await t.throwsAsync(reader.select('select 1 as n', [], { rowsMax: 1 }), { name: 'DatabaseError' });
});

test("the allowed tables are listed, and the system's never", async (t) => {
  const { reader } = await shopReader(t, {
    settings: { allowed_tables: ['public.orders', 'pg_catalog.pg_class'] },
  });
  t.true(reader.allows({ schema: 'public', name: 'orders' }));
  t.false(reader.allows({ schema: 'stock', name: 'items' }));
  t.false(reader.allows({ schema: 'pg_catalog', name: 'pg_class' }));
  const open = await shopReader(t);
  t.is(open.reader.allowedTables, null);
  t.true(open.reader.allows({ schema: 'stock', name: 'items' }));
  t.false(open.reader.allows({ schema: 'information_schema', name: 'tables' }));
});

test('a channel is listened to on a separate connection until it is closed', async (t) => {
  const { reader, client } = await shopReader(t);
  const heard: string[] = [];
  let ended = 0;
  const ears = { onNotification: (text: string) => void heard.push(text), onEnd: () => void (ended += 1) };
  const listener = await reader.listen('new "orders"', ears);
  await client.query(`select pg_notify('new "orders"', 'one'), pg_notify('other', 'no')`);
  await client.query(`select pg_notify('new "orders"', 'two')`);
  await eventually(() => heard.length === 2);
  t.deepEqual(heard, ['one', 'two']);
  await listener.close();
  t.is(ended, 1);
  const { rows } = await reader.select('select 1 as n', [], { rowsMax: 1 });
  t.deepEqual(rows, [{ n: '1' }]);
});

test('a lost connection is reported, and closing leaves none behind', async (t) => {
  const { reader, client, scope, id } = await shopReader(t);
  // Without the server's own background workers.
  const others = async () =>
    (
      await client.query(
        `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend'`,
      )
    ).rows.length;
  let ended = false;
  await reader.listen('orders', { onNotification: () => undefined, onEnd: () => void (ended = true) });
  t.is(await others(), 2);
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
     and backend_type = 'client backend'`,
  );
  await reader.closed;
  await eventually(() => ended);
  await t.throwsAsync(reader.select('select 1 as n', [], { rowsMax: 1 }), { name: 'DatabaseError' });
  await reader.close();
  const again = await bench.databases.connect(scope, id);
  await again.listen('orders', { onNotification: () => undefined, onEnd: () => undefined });
  await again.close();
  await eventually(async () => (await others()) === 0);
  t.pass();
});

test('an inactive or foreign configuration is not connected to', async (t) => {
  const { scope, person, id } = await shopReader(t);
  await t.throwsAsync(bench.databases.connect(await bench.newTenant(), id), { code: 'not_found' });
  await person.call('PATCH', `/api/database-configs/${id}`, { is_active: false });
  await t.throwsAsync(bench.databases.connect(scope, id), { code: 'conflict' });
});
