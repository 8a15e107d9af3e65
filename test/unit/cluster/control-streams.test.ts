// Streams in the control lane stay open for minutes: no number of them keeps a control call out.

import test from 'ava';
import type { Call } from '../../../cluster/activation/call.js';
import { volatileActor } from '../../../cluster/activation/kind.js';
import { ClusterError } from '../../../cluster/errors.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster } from '../../support/servers/simulated-cluster.js';

/** Two nodes, and a counter whose `count` sends one message and stays open, and whose turns last 10 s side by side. */
async function watchedCounter() {
  const cluster = new SimulatedCluster({ controlCountMax: 4, streamCountMax: 3 });
  const kind = volatileActor({
    service: CounterServiceDefinition,
    methods: { read: { lane: 'control' }, count: { lane: 'control' } },
    create: () => ({
      add: async ({ amount }: { amount: number }, call: Call) => {
        call.letNextIn();
        await sleep(cluster.time, 10_000);
        return { sum: amount };
      },
      read: async () => {
        await sleep(cluster.time, 100);
        return { sum: 1 };
      },
      where: () => ({ process: '' }),
      async *count(_: unknown, call: Call) {
        yield { number: 1 };
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
      },
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  return { cluster, counters: cluster.nodes.map(({ node }) => node.actor(kind, 'acme', 'watched')) };
}

const endless = { after: 0, to: 0, pauseMs: 0 };

test('an actor with as many open streams as it may have still takes control calls, and refuses the next stream', async (t) => {
  const { cluster, counters } = await watchedCounter();
  for (const counter of counters) {
    const streams = Array.from({ length: 3 }, () => counter.count(endless));
    for (const stream of streams) await cluster.settle(stream.next());
    const reads = Array.from({ length: 4 }, () => counter.read({}));
    const refused = await t.throwsAsync(cluster.settle(counter.count(endless).next()), {
      instanceOf: ClusterError,
      message: /has too many open streams \(streamCountMax\)/,
    });
    t.is(refused?.tag, 'overloaded');
    t.deepEqual(
      await cluster.settle(Promise.all(reads)),
      Array.from({ length: 4 }, () => ({ sum: 1 })),
    );
    for (const stream of streams.splice(0, 1)) stream.cancel();
    await cluster.time.advance(100);
    const next = counter.count(endless);
    t.deepEqual(await cluster.settle(next.next()), { done: false, value: { number: 1 } });
    for (const stream of [...streams, next]) stream.cancel();
    await cluster.time.advance(100);
  }
});

test('turns that run side by side take no place of a control call', async (t) => {
  const { cluster, counters } = await watchedCounter();
  for (const counter of counters) {
    const turns = [1, 2, 3, 4, 5, 6].map((amount) => counter.add({ amount }));
    await cluster.time.advance(100);
    t.deepEqual(await cluster.settle(counter.read({}), 1_000), { sum: 1 });
    await cluster.settle(Promise.all(turns));
  }
});
