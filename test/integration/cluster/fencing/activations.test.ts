// Activations that wait for a connection are sent together; each is a transaction of its own.
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { groupId } from '../../../../cluster/fencing/postgres/actor-key.js';
import { PostgresFenceStore } from '../../../../cluster/fencing/postgres/fence-store.js';
import { type ActorAddress, processId } from '../../../../cluster/ids/ids.js';
import { systemTime } from '../../../../cluster/time/system.js';
import { activation, adding, counterAddress, type SumStore } from '../../../contracts/fence-store.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { waitersFor } from '../../../support/database/lock-waiters.js';
import { inCzech } from '../../../support/database/translated.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';
import { createSumTables, sumTables } from '../../../support/database/sum-tables.js';

const database = databaseOfFile(test);
test.serial.before('the tables that the fence guards', () => createSumTables(database.url));

/** With one connection, what is asked for while it is busy is sent together. */
function openNarrow(t: ExecutionContext, tables = sumTables, databaseUrl = database.url): SumStore {
  const store = new PostgresFenceStore(tables, {
    databaseUrl,
    role: 'troupe_writer',
    statementTimeoutMs: 60_000,
    connectTimeoutMs: 30_000,
    time: systemTime,
    activationsMax: 1,
  });
  t.teardown(() => store.close());
  return store;
}

async function locking(t: ExecutionContext, { group, kind, key }: ActorAddress): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, options: '-c role=troupe_writer' });
  await client.connect();
  t.teardown(() => client.end());
  await client.query('begin');
  const { rowCount } = await client.query(
    'select from actors where tenant_id = $1 and kind = $2 and key = $3 for update',
    [groupId(group), kind, key],
  );
  t.is(rowCount, 1);
  return client;
}

/** Activates an actor whose row is locked, so that the only connection is busy until the lock is released. */
async function busyConnection(t: ExecutionContext, store: SumStore) {
  const address = counterAddress();
  await store.activate(activation(address, 'before'));
  const lock = await locking(t, address);
  const activating = store.activate(activation(address, 'after'));
  await eventually(async () => (await waitersFor(lock)).length === 1, { what: 'the connection is busy' });
  return async (): Promise<void> => {
    await lock.query('rollback');
    await activating;
  };
}

const epochOf = (answer: Awaited<ReturnType<SumStore['activate']>>): number | undefined =>
  answer.outcome === 'activated' ? answer.fence.epoch : undefined;

test('activations that wait have each its own epoch and what its actor committed', async (t) => {
  const store = openNarrow(t);
  const addresses = Array.from({ length: 50 }, () => counterAddress());
  for (const round of [1, 2, 3]) {
    const answers = await Promise.all(
      addresses.map((address) => store.activate(activation(address, `r${round}`))),
    );
    const fences = answers.map((answer) => (answer.outcome === 'activated' ? answer.fence : t.fail()));
    t.deepEqual(new Set(fences.map(({ epoch }) => Number(epoch))), new Set([round]));
    t.deepEqual(
      fences.map(({ address }) => address),
      addresses,
    );
    t.deepEqual(
      answers.map((answer) => answer.outcome === 'activated' && answer.loaded),
      addresses.map((_, index) => (round === 1 ? 0 : index)),
    );
    if (round === 1) await store.write(fences.map((fence, index) => adding(fence, index)));
  }
});

test('an actor that is asked for twice in one batch is activated twice, in order', async (t) => {
  const store = openNarrow(t);
  const release = await busyConnection(t, store);
  const address = counterAddress();
  const asked = ['first', 'second'].map((name) => store.activate(activation(address, name)));
  await release();
  t.deepEqual((await Promise.all(asked)).map(epochOf), [1, 2]);
});

test('a stamp in the batch is told to its own caller alone, and is passed over where it may be', async (t) => {
  const store = openNarrow(t);
  const [stamped, ignoring, free] = [counterAddress(), counterAddress(), counterAddress()];
  for (const address of [stamped, ignoring]) {
    const answer = await store.activate(activation(address, 'owner'));
    if (answer.outcome !== 'activated') return t.fail();
    const stamp = { set: 'busy', process: processId('p1'), forMs: 60_000 } as const;
    await store.write([{ ...adding(answer.fence, 1), stamp }]);
  }
  const release = await busyConnection(t, store);
  const asked = [
    store.activate(activation(stamped, 'next')),
    store.activate(activation(ignoring, 'next', ['p1'])),
    store.activate(activation(free, 'next')),
  ];
  await release();
  const answers = await Promise.all(asked);
  t.deepEqual(answers.map(epochOf), [undefined, 2, 1]);
  t.like(answers[0], { outcome: 'busy', process: 'p1' });
});

test('a row that another transaction locks delays the activation of its own actor alone', async (t) => {
  const store = openNarrow(t);
  const [locked, ...others] = Array.from({ length: 6 }, () => counterAddress());
  if (locked === undefined) return t.fail();
  await store.activate(activation(locked, 'before'));
  const lock = await locking(t, locked);
  const release = await busyConnection(t, store);
  let isActivated = false;
  const startedMs = performance.now();
  const waiting = store.activate(activation(locked, 'after')).finally(() => (isActivated = true));
  const neighbours = others.map((address) => store.activate(activation(address, 'a')));
  await release();
  t.deepEqual((await Promise.all(neighbours)).map(epochOf), [1, 1, 1, 1, 1]);
  t.true(performance.now() - startedMs < 50_000, 'before a statement is given up');
  t.false(isActivated);
  await lock.query('rollback');
  t.is(epochOf(await waiting), 2, 'it waits longer than a batch would');
});

for (const language of ['', ' in Czech']) {
  test(`an activation that PostgreSQL refuses${language} fails alone`, async (t) => {
    const server = await TcpProxy.before(database.url);
    t.teardown(() => server.close());
    if (language !== '') server.alterAnswer = inCzech;
    const store = openNarrow(t, sumTables, server.url);
    const release = await busyConnection(t, store);
    const wrong = { ...counterAddress(), key: 'a key with \0 is no text for PostgreSQL' };
    const refused = t.throwsAsync(store.activate(activation(wrong, 'a')), { message: /store_unavailable/ });
    const neighbours = [1, 2, 3].map(() => store.activate(activation(counterAddress(), 'a')));
    await release();
    t.deepEqual((await Promise.all(neighbours)).map(epochOf), [1, 1, 1]);
    await refused;
  });
}

test('an activation whose rows cannot be read fails alone', async (t) => {
  const wrong = counterAddress();
  const store = openNarrow(t, {
    ...sumTables,
    loaded(rows, load) {
      if (load.counter === wrong.key) throw new Error('a row without a sum');
      return sumTables.loaded(rows, load);
    },
  });
  const release = await busyConnection(t, store);
  const error = t.throwsAsync(store.activate(activation(wrong, 'a')), { message: /store_unavailable/ });
  const neighbours = [1, 2, 3].map(() => store.activate(activation(counterAddress(), 'a')));
  await release();
  t.deepEqual((await Promise.all(neighbours)).map(epochOf), [1, 1, 1]);
  t.like((await error)?.cause, { message: 'a row without a sum' });
});

/** The server looks for itself: the batch waits for 250 ms, in which this process may not get a core. */
function terminateWaiterFor(holder: number): string {
  return `do $$ declare waiter int; begin
    for look in 1..15000 loop
      select pid into waiter from pg_locks where not granted and ${holder} = any (pg_blocking_pids(pid)) limit 1;
      if found then perform pg_terminate_backend(waiter); return; end if;
      perform pg_sleep(0.002);
    end loop;
    raise exception 'no batch waits for the row';
  end $$`;
}

test('a connection that ends fails the activations that it carries, and the next ones get another', async (t) => {
  const store = openNarrow(t);
  const address = counterAddress();
  await store.activate(activation(address, 'before'));
  const release = await busyConnection(t, store);
  const lock = await locking(t, address);
  const carried = [address, counterAddress(), counterAddress()].map((one) =>
    store.activate(activation(one, 'a')),
  );
  const failed = Promise.allSettled(carried);
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  t.teardown(() => owner.end());
  const { rows } = await lock.query<{ pid: number }>('select pg_backend_pid() as pid');
  const terminated = owner.query(terminateWaiterFor(rows[0]?.pid ?? t.fail()));
  await release();
  await terminated;
  for (const outcome of await failed) {
    t.is(outcome.status, 'rejected');
    if (outcome.status === 'rejected') t.regex(String(outcome.reason), /store_unavailable/);
  }
  t.is(epochOf(await store.activate(activation(counterAddress(), 'a'))), 1);
});
