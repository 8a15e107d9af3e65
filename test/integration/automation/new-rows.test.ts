// New rows of a tenant's table that are told from changed ones by a column.
import test from 'ava';
import { polledTables } from '../../support/servers/polled-tables.js';

const { startLooking } = polledTables(test);

const changing =
  'create table visits (id int primary key, made timestamptz not null, at timestamptz not null)';

test.serial('a trigger for inserts with a created_column runs no old row that changes', async (t) => {
  const given = { events: ['insert'], created_column: 'made' };
  const { shop, found, look, passDay } = await startLooking(t, changing, {
    ...given,
    before: "insert into visits values (1, '2026-05-01', '2026-05-01')",
  });
  const change = (id: number, time: string) =>
    shop.client.query(`update visits set at = '${time}' where id = ${id}`);
  await change(1, '2026-05-02');
  await shop.client.query("insert into visits values (2, '2026-05-03', '2026-05-03')");
  await look();
  t.deepEqual(found, ['2'], 'the row that was there before has changed');
  await passDay();
  await look();
  await change(2, '2026-05-04');
  await shop.client.query("insert into visits values (3, '2026-05-05', '2026-05-05')");
  await look();
  t.deepEqual(found, ['2', '3']);
  // Its transaction commits a few minutes late, after a later row was read.
  await shop.client.query("insert into visits values (4, '2026-05-04 23:59', '2026-05-06')");
  await look();
  t.deepEqual(found, ['2', '3', '4']);
});

test.serial('another created_column is not compared with the values of the one before', async (t) => {
  const { shop, node, found, look, change } = await startLooking(t, changing, {
    events: ['update'],
    created_column: 'id',
  });
  await shop.client.query("insert into visits values (1, '2026-05-01', '2026-05-01')");
  await look();
  node.config = await change(2, { created_column: 'made' });
  node.revision = 2;
  await look();
  await shop.client.query("update visits set at = '2026-05-02' where id = 1");
  await look();
  t.deepEqual(found, ['1']);
});

test.serial('rows below those that have been read start nothing, and the owner is told', async (t) => {
  const { shop, found, look, lookToTheEnd, sweepSoon, health, passDay } = await startLooking(
    t,
    'create table visits (id serial primary key, note text)',
    { cursor_column: 'id' },
  );
  const insert = (rows: number) =>
    shop.client.query(`insert into visits (note) select 'x' from generate_series(1, ${rows})`);
  const sweep = async () => {
    await sweepSoon();
    await look();
    return health();
  };
  const well = { failures: 0, last_error: null };
  await insert(100);
  await lookToTheEnd();
  t.is(found.length, 100);
  await passDay();
  await look();
  await shop.client.query('delete from visits where id > 90');
  t.deepEqual(await sweep(), well, 'rows may be deleted');
  await shop.client.query('truncate visits restart identity');
  t.deepEqual(await sweep(), well);
  await insert(3);
  const told = await sweep();
  t.is(told?.failures, 1);
  t.regex(
    told?.last_error ?? '',
    /^Rows of visits were added whose id is at most 3, but rows up to 100 have been/,
  );
  await look();
  t.deepEqual(await health(), told, 'also after a poll that is no sweep');
  t.is(found.length, 100);
  await shop.client.query("select setval('visits_id_seq', 100)");
  await insert(1);
  await look();
  t.deepEqual(found.slice(100), ['101']);
  t.deepEqual(await health(), well);
});
