// The address of PostgreSQL leads for a moment to a server that does not write: a standby, or a primary that was lowered.
import test, { type ExecutionContext } from 'ava';
import { Connections } from '../../../../cluster/fencing/postgres/connections.js';
import { PostgresNumbers } from '../../../../cluster/fencing/postgres/view-numbers.js';
import { viewNumber } from '../../../../cluster/ids/ids.js';
import { systemTime } from '../../../../cluster/time/system.js';
import { activated, adding, counterAddress } from '../../../contracts/fence-store.js';
import { createDatabase, type TestDatabase } from '../../../support/database/database.js';
import { ChangingServer } from '../../../support/database/standby.js';
import { createSumTables, openSumStore } from '../../../support/database/sum-tables.js';

async function changingServer(
  t: ExecutionContext,
): Promise<{ database: TestDatabase; server: ChangingServer }> {
  const database = await createDatabase(t);
  await createSumTables(database.url);
  const server = await ChangingServer.of(database);
  t.teardown(() => server.close());
  return { database, server };
}

function settings({ url }: TestDatabase) {
  return {
    databaseUrl: url,
    role: 'troupe_writer',
    statementTimeoutMs: 60_000,
    connectTimeoutMs: 30_000,
    time: systemTime,
  };
}

for (const state of ['standby', 'read-only'] as const) {
  test(`actors are activated and written again after their connections met a ${state} server`, async (t) => {
    const { database, server } = await changingServer(t);
    const store = openSumStore(database.url, { statementTimeoutMs: 60_000 });
    t.teardown(() => store.close());
    const address = counterAddress();
    await server.becomes(state);
    await t.throwsAsync(() => activated(store, address, 'a'), { message: /store_unavailable/ });
    await server.becomes('primary');
    const { fence } = await activated(store, address, 'b');
    await server.becomes(state);
    await t.throwsAsync(async () => store.write([adding(fence, 1)]), { message: /store_unavailable/ });
    await server.becomes('primary');
    t.like(await store.write([adding(fence, 1)]), [{ outcome: 'written' }]);
  });

  test(`view numbers are issued again after their connections met a ${state} server`, async (t) => {
    const { database, server } = await changingServer(t);
    const numbers = new PostgresNumbers({ ...settings(database), cluster: 'c' });
    t.teardown(() => numbers.close());
    await server.becomes(state);
    await t.throwsAsync(numbers.next(viewNumber(0)), {
      message: new RegExp(`store_unavailable: PostgreSQL: .*${state}`),
    });
    await t.throwsAsync(
      numbers.seized(),
      { message: /store_unavailable/ },
      'a standby may lack a seized number',
    );
    await server.becomes('primary');
    t.is(Number(await numbers.next(viewNumber(0))), 1);
  });
}

test('a connection whose server has become read-only is not used again', async (t) => {
  const { database } = await changingServer(t);
  const connections = new Connections({ ...settings(database), connectionsMax: 1 });
  t.teardown(() => connections.close());
  await connections.use((client) => client.query('set default_transaction_read_only = on'));
  const write = () => connections.use((client) => client.query('create temporary table written ()'));
  await t.throwsAsync(write, { code: '25006' });
  await t.notThrowsAsync(write);
});
