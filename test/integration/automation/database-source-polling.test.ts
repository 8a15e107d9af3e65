// Polls of a tenant's table, with both databases real: the found rows and the connection.
import test from 'ava';
import { eventually } from '../../support/clocks/eventually.js';
import { ownerView } from '../../support/database/owner-view.js';
import { polledTables } from '../../support/servers/polled-tables.js';

const { database, startLooking } = polledTables(test);

const visits = 'create table visits (id int primary key, at timestamptz not null, note text)';

test.serial('more rows than one poll reads are all found once, although they share one cursor', async (t) => {
  const { shop, found, look, lookToTheEnd } = await startLooking(t, visits);
  await shop.client.query("insert into visits select n, '2026-05-01' from generate_series(1, 1300) n");
  await lookToTheEnd();
  t.is(found.length, 1_300);
  t.is(new Set(found).size, 1_300);
  await shop.client.query("insert into visits values (1301, '2026-05-01'), (1302, '2026-05-02')");
  await lookToTheEnd();
  await look();
  t.deepEqual(found.slice(1_300), ['1301', '1302']);
});

test.serial('a sweep longer than one poll continues where it stopped, and finds late rows', async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits);
  await shop.client.query(
    "insert into visits select n, timestamptz '2026-05-01' + n * interval '1 s' from generate_series(1, 1100) n",
  );
  await lookToTheEnd();
  t.is(found.length, 1_100);
  await shop.client.query("insert into visits values (0, '2026-05-01 00:00:30')");
  const owner = await ownerView(database.url);
  await owner.query("update trigger_sources set state = state - 'swept_ms'");
  await owner.end();
  t.true(((await lookToTheEnd()) ?? 0) > 1);
  t.deepEqual(found.slice(1_100), ['0']);
});

test.serial('rows that are too large together are read in smaller numbers', async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits);
  await shop.client.query(
    "insert into visits select n, timestamptz '2026-05-01' + n * interval '1 s', repeat('x', 20000) from generate_series(1, 300) n",
  );
  await lookToTheEnd();
  t.is(new Set(found).size, 300);
});

test.serial("a row's message is bounded like any other", async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits, {
    message_template: '{{ note }}'.repeat(1_000),
  });
  await shop.client.query("insert into visits values (1, '2026-05-01', repeat('x', 1000000))");
  await lookToTheEnd();
  t.deepEqual(
    found.map(({ length }) => length),
    [200_000],
  );
});

test.serial(
  'very many rows without a key that share one cursor are reported, not read for ever',
  async (t) => {
    const { shop, look } = await startLooking(t, 'create table visits (id int, at timestamptz not null)');
    await shop.client.query("insert into visits select n, '2026-05-01' from generate_series(1, 10001) n");
    await look();
    const error = await t.throwsAsync(async () => {
      for (let looks = 0; looks < 30; looks += 1) await look();
    });
    t.regex(error?.message ?? '', /More than 10000 rows share one value of at/);
  },
);

test.serial(
  'a narrowed or deleted configuration is read no more, and its connection is closed',
  async (t) => {
    const { shop, found, look, person, configId, connections } = await startLooking(t, visits);
    await look();
    t.is(await connections(), 1);
    const path = `/api/database-configs/${configId}`;
    await person.call('PATCH', path, { settings: { allowed_tables: ['public.orders'] } });
    await shop.client.query("insert into visits values (1, '2026-05-01')");
    await t.throwsAsync(async () => look(), { message: /does not allow this table/ });
    await person.call('PATCH', path, { settings: null });
    await look();
    t.deepEqual(found, ['1']);
    await person.call('DELETE', path);
    await t.throwsAsync(async () => look(), { message: /was not found/ });
    await eventually(async () => (await connections()) === 0);
  },
);

test.serial('a node that lost the table to another keeps no connection to it', async (t) => {
  const { look, lookUndue, connections } = await startLooking(t, visits, { nodes: 2 });
  await look(0);
  await look(1);
  t.is(await connections(), 2);
  await lookUndue(0);
  await eventually(async () => (await connections()) === 1);
});

test.serial('a listening connection that ends is replaced, so that notifications arrive again', async (t) => {
  const { shop, found, early, look, connections } = await startLooking(t, visits, {
    channel: 'visits',
    poll_ms: 3_600_000,
    hurry: 20,
  });
  const end = async (which: string) => {
    const ended = await shop.client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${which}`,
    );
    return ended.rowCount;
  };
  const insert = (id: number) =>
    shop.client.query(`insert into visits values (${id}, '2026-05-01'); notify visits`);
  await look();
  t.is(await connections(), 2);
  await insert(1);
  await eventually(() => found.length === 1, { what: 'the notified row' });
  for (const [id, which, ends] of [
    [2, 'query = \'listen "visits"\'', 1],
    [3, "application_name = 'troupe'", 2],
  ] as const) {
    const polls = early.length;
    t.is(await end(which), ends);
    await eventually(() => early.length > polls, { what: 'a poll after the connection ended' });
    await Promise.all(early);
    t.is(early.length, polls + 1, 'one poll for one end');
    await insert(id);
    await eventually(() => found.length === id, { what: 'the row notified after the connection ended' });
    await Promise.all(early);
    await eventually(async () => (await connections()) === 2, { what: 'no connection left behind' });
  }
  t.deepEqual(found, ['1', '2', '3']);
});

test.serial('after seven minutes the connections are replaced by ones that are opened anew', async (t) => {
  const { shop, node, found, look, connections } = await startLooking(t, visits, { channel: 'visits' });
  const pids = async () => {
    const { rows } = await shop.client.query<{ pid: number }>(
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
    );
    return rows.map(({ pid }) => pid);
  };
  await look();
  const before = await pids();
  t.is(before.length, 2);
  node.passedMs = 7 * 60_000;
  await shop.client.query("insert into visits values (1, '2026-05-01')");
  await look();
  t.deepEqual(found, ['1']);
  await eventually(async () => (await connections()) === 2, { what: 'no connection left behind' });
  const after = await pids();
  t.true(after.every((pid) => !before.includes(pid)));
});

for (const [quiet, sinceLook] of [
  ['a day', '1 day'],
  ['ten minutes', '15 seconds'],
] as const) {
  test.serial(
    `rows of a table that was quiet for ${quiet} do not run again after their records expired`,
    async (t) => {
      const { shop, scope, found, look, lookToTheEnd } = await startLooking(t, visits);
      await shop.client.query(
        "insert into visits values (1, '2026-05-01'), (2, '2026-05-02'), (3, '2026-05-02')",
      );
      await lookToTheEnd();
      t.is(found.length, 3);
      const owner = await ownerView(database.url);
      t.teardown(() => owner.end());
      const day = 86_400_000;
      const since = sinceLook === '1 day' ? day : 15_000;
      await owner.query('delete from trigger_inbox');
      await owner.query(
        `update trigger_sources set state = state || jsonb_build_object(
        'swept_ms', (state ->> 'swept_ms')::float8 - $1::float8,
        'swept_from_ms', (state ->> 'swept_from_ms')::float8 - $1::float8,
        'marks', (select jsonb_agg(jsonb_build_object('at', (m ->> 'at')::float8 - $2::float8, 'cursor', m -> 'cursor'))
          from jsonb_array_elements(state -> 'marks') m))
        where tenant_id = $3`,
        [since, day, scope.tenantId],
      );
      for (let looks = 0; looks < 3; looks += 1) await look();
      t.is(found.length, 3);
      await shop.client.query("insert into visits values (4, '2026-05-02')");
      await look();
      t.deepEqual(found.slice(3), ['4']);
      // The next sweep begins at the cursor that this row leaves.
      await owner.query('delete from trigger_inbox');
      await shop.client.query("insert into visits values (5, '2026-05-03')");
      await look();
      await owner.query(
        `update trigger_sources set state = state || jsonb_build_object('swept_ms', (state ->> 'swept_ms')::float8 - 15000)
        where tenant_id = $1`,
        [scope.tenantId],
      );
      await look();
      t.deepEqual(found.slice(3), ['4', '5']);
    },
  );
}

test.serial('a node at its limit leaves rows in their table, and takes them later', async (t) => {
  const { shop, node, found, look } = await startLooking(t, visits);
  await shop.client.query("insert into visits values (1, '2026-05-01')");
  node.isFull = true;
  await look();
  t.deepEqual(found, []);
  node.isFull = false;
  await look();
  t.deepEqual(found, ['1']);
});

test.serial('a node that does not know the new table yet leaves it to one that does', async (t) => {
  const { shop, node, found, look, change } = await startLooking(t, visits);
  await shop.client.query('create table calls (id int primary key, at timestamptz not null)');
  await look();
  const changed = await change(2, { table: 'calls' });
  await shop.client.query("insert into calls values (1, '2026-05-01')");
  await look();
  Object.assign(node, { config: changed, revision: 2 });
  await look();
  t.deepEqual(found, ['1']);
  // A change that keeps the table keeps the position.
  await change(3, { table: 'calls', message_template: 'call {{ id }}' });
  await shop.client.query("insert into calls values (2, '2026-05-02')");
  await look();
  t.deepEqual(found, ['1']);
  node.revision = 3;
  await look();
  t.deepEqual(found, ['1', '2']);
});
