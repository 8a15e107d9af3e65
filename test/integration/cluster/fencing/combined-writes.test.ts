import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import type { BusyStamp } from '../../../../cluster/fencing/fence.js';
import { type Committed, GroupCommit } from '../../../../cluster/fencing/group-commit.js';
import { PostgresFenceStore } from '../../../../cluster/fencing/postgres/fence-store.js';
import { processId } from '../../../../cluster/ids/ids.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { activated, activation, counterAddress } from '../../../contracts/fence-store.js';
import { databaseOfFile, databaseConnectMs } from '../../../support/database/database.js';
import { createSumTables, sumTables } from '../../../support/database/sum-tables.js';

const database = databaseOfFile(test);
test.serial.before('the tables that the fence guards', () => createSumTables(database.url));

function tensAndOnes() {
  const config = clusterConfig();
  const store = new PostgresFenceStore(
    // The result shows the order in which the writes were combined.
    { ...sumTables, combine: (earlier, later) => ({ ...later, sum: earlier.sum * 10 + later.sum }) },
    {
      databaseUrl: database.url,
      role: 'troupe_writer',
      statementTimeoutMs: config.statementTimeoutMs,
      connectTimeoutMs: databaseConnectMs,
      time: systemTime,
    },
  );
  return { store, group: new GroupCommit(store, config, systemTime, systemRandom) };
}

async function resultsOf(writes: readonly Promise<Committed<number>>[]): Promise<readonly unknown[]> {
  const committed = await Promise.all(writes);
  return committed.map((each) => (each.outcome === 'committed' ? each.result : each.outcome));
}

test('waiting writes of one actor become one write if its tables can combine them', async (t) => {
  const { store, group } = tensAndOnes();
  t.teardown(() => store.close());
  const address = counterAddress();
  const { fence } = await activated(store, address, 'a');
  const holder = group.holder(fence);
  const write = (sum: number) =>
    holder.write({ id: `${address.key} ${sum}`, counter: address.key, sum }, undefined);
  t.deepEqual(
    await resultsOf([write(1), write(2), holder.write(undefined, undefined), write(4)]),
    [124, 124, 124, 124],
  );
  t.is(Number(holder.fence.revision), 1);
  // Writes requested during a write wait for it, and are then combined.
  const first = write(8);
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(await resultsOf([first, write(5), write(6)]), [8, 56, 56]);
  t.is(Number(holder.fence.revision), 3);
});

test('of combined writes only those are rejected that the store refuses by themselves, in their order', async (t) => {
  const { store, group } = tensAndOnes();
  t.teardown(() => store.close());
  const address = counterAddress();
  const { fence } = await activated(store, address, 'a');
  const holder = group.holder(fence);
  const write = (sum: number) =>
    holder.write({ id: `${address.key} ${sum}`, counter: address.key, sum }, undefined);
  const settled = await Promise.allSettled([write(6), write(-100), write(1)]);
  t.deepEqual(
    settled.map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason).slice(0, 28))),
    [
      { outcome: 'committed', result: 6 },
      'ClusterError: write_rejected',
      { outcome: 'committed', result: 1 },
    ],
  );
  // They are combined again.
  t.deepEqual(await resultsOf([write(2), write(3)]), [23, 23]);
  t.is(Number(holder.fence.revision), 3);
});

test('the latest stamp among combined writes takes effect', async (t) => {
  const { store, group } = tensAndOnes();
  t.teardown(() => store.close());
  const address = counterAddress();
  const { fence } = await activated(store, address, 'a');
  const holder = group.holder(fence);
  const busy = { set: 'busy', process: processId('p1'), forMs: 60_000 } as const;
  const write = (sum: number, stamp?: BusyStamp) =>
    holder.write({ id: `${address.key} ${sum}`, counter: address.key, sum }, stamp);
  t.deepEqual(await resultsOf([write(1), write(2, busy), write(3)]), [123, 123, 123]);
  t.is((await store.activate(activation(address, 'b'))).outcome, 'busy');
  t.deepEqual(await resultsOf([write(4, busy), write(5, { set: 'free' }), write(6)]), [456, 456, 456]);
  t.is((await activated(store, address, 'c')).loaded, 456);
});
