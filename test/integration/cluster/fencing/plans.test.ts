import test from 'ava';
import pg from 'pg';
import { Connections } from '../../../../cluster/fencing/postgres/connections.js';
import { systemTime } from '../../../../cluster/time/system.js';
import { activated, adding, counterAddress } from '../../../contracts/fence-store.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { createSumTables, openSumStore } from '../../../support/database/sum-tables.js';

const database = databaseOfFile(test);
test.serial.before('the tables that the fence guards', () => createSumTables(database.url));

// One after the other: the first waits for the end of all other connections.
test.serial('a batch never scans the actors table, whatever it held when the plan was made', async (t) => {
  const watcher = new pg.Client({ connectionString: database.url });
  await watcher.connect();
  t.teardown(() => watcher.end());
  /** Waits until earlier connections are closed, because their statistics are complete only then. */
  const sequentialScans = async (): Promise<number> => {
    await eventually(async () => {
      const others = await watcher.query(
        `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend'`,
      );
      return others.rowCount === 0;
    });
    const { rows } = await watcher.query<{ seq_scan: string }>(
      `select seq_scan from pg_stat_user_tables where relname = 'actors'`,
    );
    return Number(rows[0]?.seq_scan);
  };
  const before = await sequentialScans();
  for (const inOne of [false, true]) {
    const store = openSumStore(database.url, { inOne });
    const owned = await Promise.all(
      Array.from({ length: 20 }, () => activated(store, counterAddress(), 'a')),
    );
    const answers = await store.write(owned.map(({ fence }) => adding(fence, 1)));
    t.true(answers.every(({ outcome }) => outcome === 'written'));
    await store.close();
  }
  t.is(await sequentialScans(), before);
});

test.serial('a plan made for an empty table is made again while the table fills', async (t) => {
  const connections = new Connections({
    databaseUrl: database.url,
    connectionsMax: 1,
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 5_000,
    time: systemTime,
  });
  t.teardown(() => connections.close());
  const ask = (): Promise<pg.QueryResult> =>
    connections.use((client) =>
      client.query({
        name: 'one_of_many',
        text: 'select from many where owner = $1 and id = $2',
        values: [1, 1],
      }),
    );
  /** The plan that the connection keeps, which makes no new one for the explanation. */
  const plan = (): Promise<string> =>
    connections.use(async (client) => {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>('explain execute one_of_many (1, 1)');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
  // An analysis by autovacuum, which comes once a minute, makes every plan anew.
  await connections.use((client) =>
    client.query('create table many (owner int, id int) with (autovacuum_enabled = off)'),
  );
  await ask();
  const planned = await plan();
  await connections.use((client) =>
    client.query('insert into many select 1, n from generate_series(1, 20000) n'),
  );
  t.is(await plan(), planned, 'PostgreSQL keeps the plan');
  for (let uses = 0; uses < 300; uses += 1) await ask();
  const again = await plan();
  t.not(again, planned);
  await connections.use((client) =>
    client.query('insert into many select 1, n from generate_series(1, 20000) n'),
  );
  for (let uses = 0; uses < 300; uses += 1) await ask();
  t.is(await plan(), again, 'the second time it is kept for twice as many uses');
  for (let uses = 0; uses < 300; uses += 1) await ask();
  t.not(await plan(), again);
});
