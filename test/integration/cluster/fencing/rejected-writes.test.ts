import test from 'ava';
import { durableActor } from '../../../../cluster/activation/kind.js';
import { clusterConfig } from '../../../../cluster/config.js';
import { ClusterError } from '../../../../cluster/errors.js';
import { GroupCommit } from '../../../../cluster/fencing/group-commit.js';
import { MemoryFenceStore } from '../../../../cluster/simulation/fence-store.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { CounterServiceDefinition } from '../../../../generated/troupe/examples/v1/counter.js';
import { activated, counterAddress, type SumLoad, type SumWrite } from '../../../contracts/fence-store.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { SimulatedCluster } from '../../../support/servers/simulated-cluster.js';
import { createSumTables, openSumStore } from '../../../support/database/sum-tables.js';

const database = databaseOfFile(test);
test.serial.before('the tables that the fence guards', () => createSumTables(database.url));

test('a write that violates a constraint fails with write_rejected and the PostgreSQL error as its cause, and the next write succeeds', async (t) => {
  const store = openSumStore(database.url);
  t.teardown(() => store.close());
  const address = counterAddress();
  const { fence } = await activated(store, address, 'a');
  const commits = new GroupCommit(store, clusterConfig(), systemTime, systemRandom);
  const holder = commits.holder(fence);
  const write = (sum: number) =>
    holder.write({ id: `${address.key} ${sum}`, counter: address.key, sum }, undefined);
  const error = await t.throwsAsync(write(-1), { instanceOf: ClusterError });
  t.is(error?.tag, 'write_rejected');
  t.is(error?.retry, 'never');
  t.like(error?.cause, { name: 'error', code: '23514', table: 'additions' });
  t.false(holder.lost);
  t.deepEqual(await write(5), { outcome: 'committed', result: 5 });
});

test('a caller on another node receives write_rejected, and the activation continues', async (t) => {
  const cluster = new SimulatedCluster();
  const sums = {
    load: () => 0,
    apply: ({ sum }: SumWrite) => {
      if (sum < 0) throw new RangeError('a sum must not be negative');
      return sum;
    },
  };
  const store = new MemoryFenceStore<SumLoad, number, SumWrite, number>(sums, cluster.time, {
    delayMs: () => 1,
    fault: () => 'none',
  });
  let activations = 0;
  const kind = durableActor({
    service: CounterServiceDefinition,
    commits: new GroupCommit(store, cluster.config, cluster.time, cluster.random),
    load: ({ key }) => ({ counter: key }),
    create: (activation) => {
      activations += 1;
      return {
        add: async ({ amount }: { amount: number }, { requestId }) => {
          const committed = await activation.write({ id: requestId, counter: 'c', sum: amount });
          return { sum: committed.outcome === 'committed' ? committed.result : 0 };
        },
        read: () => ({ sum: 0 }),
        where: () => ({ process: '' }),
        async *count() {},
      };
    },
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const { node } of cluster.nodes) {
    const counter = node.actor(kind, 'acme', 'one');
    const error = await t.throwsAsync(cluster.settle(counter.add({ amount: -1 })), {
      instanceOf: ClusterError,
    });
    t.is(error?.tag, 'write_rejected');
    t.regex(error?.message ?? '', /not be negative/);
    t.is((await cluster.settle(counter.add({ amount: 3 }))).sum, 3);
  }
  t.is(activations, 1);
});
