// Rows of a tenant's table that are too large for one answer of its database.
import test from 'ava';
import { polledTables } from '../../support/servers/polled-tables.js';

const { startLooking } = polledTables(test);

const visits = 'create table visits (id int primary key, at timestamptz not null, note text)';

const large = (id: number, mebibytes: number): string =>
  `insert into visits values (${id}, timestamptz '2026-05-01' + ${id} * interval '1 s', repeat('x', ${Math.floor(mebibytes * 1_048_576)}))`;

test.serial('large rows hold up no row behind them', async (t) => {
  const { shop, found, faults, lookToTheEnd } = await startLooking(t, visits);
  for (const [id, mebibytes] of [
    [1, 0],
    [2, 2.2],
    [3, 2.2],
    [4, 5],
    [5, 0],
    [6, 5],
  ] as const)
    await shop.client.query(large(id, mebibytes));
  await lookToTheEnd();
  t.deepEqual(found, ['1', '2', '3', '4', '5', '6']);
  t.deepEqual(await faults(), []);
});

test.serial('a large row runs once, and is not read again while its table is quiet', async (t) => {
  const { shop, found, look, lookToTheEnd, passDay, sweepSoon } = await startLooking(t, visits);
  await shop.client.query(large(1, 5));
  await lookToTheEnd();
  await passDay();
  await look();
  const { rows } = await shop.client.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
  );
  await look();
  const { rows: later } = await shop.client.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
  );
  t.deepEqual(later, rows, 'no answer was too large, which costs the connection');
  await shop.client.query(large(2, 0));
  await look();
  // The next poll sweeps, from the cursor that the second row has left.
  await sweepSoon();
  await lookToTheEnd();
  t.deepEqual(found, ['1', '2']);
});

test.serial('a large value that the message names is cut like any other', async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits, {
    message_template: '{{ id }} {{ note }}',
  });
  await shop.client.query(large(1, 5));
  await lookToTheEnd();
  t.true(found[0]?.startsWith('1 xxx'));
  t.is(found[0]?.length, 1 + ' '.length + 199_999);
});

test.serial('a row that cannot be read is a failed execution, and the next one runs', async (t) => {
  const names = Array.from({ length: 25 }, (_, n) => `c${n}`);
  const { shop, found, faults, look, lookToTheEnd } = await startLooking(
    t,
    `create table visits (id int primary key, at timestamptz not null, ${names.map((name) => `${name} text`).join(', ')})`,
    { message_template: `{{ id }} ${names.map((name) => `{{ ${name} }}`).join('')}` },
  );
  const long = names.map(() => "repeat('x', 200000)").join(', ');
  await shop.client.query(`insert into visits values (1, '2026-05-01', ${long})`);
  await shop.client.query("insert into visits values (2, '2026-05-02')");
  await lookToTheEnd();
  t.deepEqual(found, ['2 ']);
  await look();
  const [fault, another] = await faults();
  t.is(another, undefined);
  t.is(fault?.code, 'unreadable_row');
  t.regex(fault?.message ?? '', /"id":"1".* of visits is too large/);
});

test.serial('without a primary key, large rows are read by their cursor', async (t) => {
  const { shop, found, faults, lookToTheEnd } = await startLooking(t, visits.replace(' primary key', ''));
  for (let id = 1; id <= 12; id += 1) await shop.client.query(large(id, 0.9));
  await lookToTheEnd();
  t.deepEqual(
    found,
    Array.from({ length: 12 }, (_, n) => `${n + 1}`),
  );
  t.deepEqual(await faults(), []);
});

test.serial(
  'rows without a key that cannot be read are reported, and passed over once others follow',
  async (t) => {
    const { shop, found, faults, lookToTheEnd } = await startLooking(t, visits.replace(' primary key', ''));
    await shop.client.query(large(1, 0));
    await shop.client.query(large(2, 5));
    const error = await t.throwsAsync(lookToTheEnd);
    t.regex(
      error?.message ?? '',
      /share one value of at are too large .*2026-05-01 00:00:02.* no primary key/,
    );
    t.deepEqual(await faults(), []);
    await shop.client.query(large(3, 0));
    await lookToTheEnd();
    t.deepEqual(found, ['1', '3']);
    const [fault, another] = await faults();
    t.is(another, undefined);
    t.is(fault?.code, 'unreadable_row');
    t.regex(fault?.message ?? '', /2026-05-01 00:00:02/);
  },
);
