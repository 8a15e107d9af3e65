import test from 'ava';
import { ClusterError } from '../../../cluster/errors.js';
import { volatileActor } from '../../../cluster/activation/kind.js';
import { durableCounter } from '../../../cluster/example/counter.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { CounterTables } from '../../../cluster/simulation/counter-tables.js';
import { MemoryFenceStore } from '../../../cluster/simulation/fence-store.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster } from '../../support/servers/simulated-cluster.js';

async function overStoreThatIsAway() {
  const cluster = new SimulatedCluster();
  const state = { isAway: true, asked: 0 };
  const store = new MemoryFenceStore(new CounterTables(), cluster.time, {
    delayMs: () => 1,
    fault: () => {
      state.asked += 1;
      return state.isAway ? 'away' : 'none';
    },
  });
  const commits = new GroupCommit(store, cluster.config, cluster.time, cluster.random);
  const kind = durableCounter(commits, cluster.time);
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const counters = cluster.nodes.map(({ node }) => node.actor(kind, 'acme', 'one'));
  return { cluster, state, counters };
}

test('a local or remote call survives a short failover of the store during the load of its actor', async (t) => {
  const { cluster, state, counters } = await overStoreThatIsAway();
  const calls = counters.map((counter) => counter.add({ amount: 1 }));
  await cluster.time.advance(cluster.config.storeRetryMs - 600);
  state.isAway = false;
  const sums = await Promise.all(calls.map((call) => cluster.settle(call)));
  t.deepEqual(
    sums.map(({ sum }) => sum).toSorted((one, other) => one - other),
    [1, 2],
  );
});

test('a lasting store outage is reported long before the deadline and after few attempts', async (t) => {
  const { cluster, state, counters } = await overStoreThatIsAway();
  for (const counter of counters) {
    const startedMs = cluster.time.monotonicMs();
    state.asked = 0;
    const error = await t.throwsAsync(cluster.settle(counter.read({}, { deadlineMs: 20_000 })), {
      instanceOf: ClusterError,
    });
    t.is(error?.tag, 'store_unavailable');
    const tookMs = cluster.time.monotonicMs() - startedMs;
    t.true(
      tookMs >= cluster.config.storeRetryMs && tookMs < cluster.config.storeRetryMs + 1_000,
      `${tookMs}`,
    );
    t.true(state.asked > 3 && state.asked < 30, `the store was asked ${state.asked} times`);
  }
});

test('a call ends at its deadline if the store is not back before', async (t) => {
  const { cluster, counters } = await overStoreThatIsAway();
  for (const counter of counters) {
    const error = await t.throwsAsync(cluster.settle(counter.add({ amount: 1 }, { deadlineMs: 400 })), {
      instanceOf: ClusterError,
    });
    t.is(error?.tag, 'deadline_exceeded');
    t.regex(String(error?.cause), /store_unavailable/);
  }
});

test('a handler that started and lost its store is repeated only if its method is idempotent', async (t) => {
  const cluster = new SimulatedCluster();
  const runs = { add: 0, read: 0 };
  const kind = volatileActor({
    service: CounterServiceDefinition,
    methods: { read: { idempotent: true } },
    create: () => {
      const fail = (method: keyof typeof runs): never => {
        runs[method] += 1;
        throw new ClusterError('store_unavailable', 'unreachable');
      };
      return {
        add: () => fail('add'),
        read: () => (runs.read < 2 ? fail('read') : { sum: 7 }),
        where: () => ({ process: '' }),
        async *count() {},
      };
    },
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const counter = cluster.nodes[0]?.node.actor(kind, 'acme', 'one');
  if (counter === undefined) throw new Error('the node does not exist');
  const error = await t.throwsAsync(cluster.settle(counter.add({ amount: 1 })), { instanceOf: ClusterError });
  t.is(error?.tag, 'store_unavailable');
  t.deepEqual(await cluster.settle(counter.read({})), { sum: 7 });
  t.deepEqual(runs, { add: 1, read: 2 });
});
