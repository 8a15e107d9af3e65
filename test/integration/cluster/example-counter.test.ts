import test from 'ava';
import pg from 'pg';
import { clusterConfig } from '../../../cluster/config.js';
import { durableCounter } from '../../../cluster/example/counter.js';
import { counterSchema, postgresCounterTables } from '../../../cluster/example/postgres-counter.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { PostgresFenceStore } from '../../../cluster/fencing/postgres/fence-store.js';
import { processId, requestId } from '../../../cluster/ids/ids.js';
import { openLoneNode } from '../../../cluster/node/lone-node.js';
import { systemRandom, systemTime } from '../../../cluster/time/system.js';
import { databaseOfFile, databaseConnectMs } from '../../support/database/database.js';

const database = databaseOfFile(test);
test.serial.before('the tables of the counter', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `${counterSchema} grant select, insert, update on example_counters, example_additions to troupe_writer;`,
  );
  await client.end();
});

test('an addition repeated after its owner was replaced adds nothing and returns the first sum', async (t) => {
  const config = clusterConfig();
  const store = new PostgresFenceStore(postgresCounterTables, {
    databaseUrl: database.url,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: databaseConnectMs,
    time: systemTime,
  });
  t.teardown(() => store.close());
  const kind = durableCounter(new GroupCommit(store, config, systemTime, systemRandom), systemTime);
  const first = { requestId: requestId('the-first') };
  const on = async (
    name: string,
    use: (add: (amount: number, id?: typeof first) => Promise<number>) => Promise<void>,
  ) => {
    const { node, stop } = await openLoneNode({ kinds: [kind], process: processId(name) });
    const counter = node.actor(kind, 'a group', 'a counter');
    await use(async (amount, id) => (await counter.add({ amount }, id)).sum);
    await stop();
  };
  await on('one', async (add) => {
    t.is(await add(5, first), 5);
    t.is(await add(2), 7);
  });
  await on('two', async (add) => {
    t.is(await add(5, first), 5);
  });
  await on('three', async (add) => {
    t.is(await add(1), 8);
  });
});
