// Which actors leave memory when there are too many of them, or when they hold too much.
import test from 'ava';
import { deactivated, volatileActor, type EndReason } from '../../../cluster/activation/kind.js';
import type { ClusterConfig } from '../../../cluster/config.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster } from '../../support/servers/simulated-cluster.js';

/** One node. A call `add` makes its actor hold so many bytes; one of 0 goes on until `release`. */
async function started(changes: Partial<ClusterConfig>) {
  const cluster = new SimulatedCluster(changes);
  const gone: string[] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const kindOf = (name: string) =>
    volatileActor({
      service: CounterServiceDefinition,
      name,
      create: (activation) => ({
        add: async ({ amount }: { amount: number }) => {
          if (amount === 0) await held;
          else activation.holds(amount);
          return { sum: amount };
        },
        read: () => ({ sum: 0 }),
        where: () => ({ process: '' }),
        async *count() {},
        [deactivated]: (reason: EndReason) => {
          gone.push(`${activation.address.key} ${reason}`);
          activation.holds(1_000_000);
        },
      }),
    });
  const [kind, other] = [kindOf('test.Holding'), kindOf('test.Other')];
  const { node } = await cluster.add(cluster.host('n1'), [other, kind]);
  await cluster.join();
  return {
    cluster,
    gone,
    release: () => release(),
    /** Later than the calls before it, by the resolution of the order of use. */
    holds: async (key: string, bytes: number) => {
      await cluster.time.advance(200);
      await cluster.settle(node.actor(kind, 'acme', key).add({ amount: bytes }));
    },
    busy: (key: string) => node.actor(kind, 'acme', key).add({ amount: 0 }),
    other: (key: string) => cluster.settle(node.actor(other, 'acme', key).read({})),
  };
}

test('beyond the number of actors the one that was used longest ago leaves', async (t) => {
  const { gone, holds } = await started({ residentsMax: 3 });
  for (const key of ['a', 'b', 'c', 'a', 'd']) await holds(key, 1);
  t.deepEqual(gone, ['b cap']);
});

test('beyond the bytes of all actors those leave that were used longest ago, until the rest fits', async (t) => {
  const { gone, holds } = await started({ residentBytesMax: 1_000 });
  for (const key of ['a', 'b', 'c']) await holds(key, 300);
  t.deepEqual(gone, []);
  await holds('a', 400);
  t.deepEqual(gone, [], 'exactly as much as may be');
  await holds('d', 500);
  t.deepEqual(gone, ['b cap', 'c cap']);
  // They have given back what they held.
  await holds('e', 100);
  t.deepEqual(gone, ['b cap', 'c cap']);
});

test('an actor that holds less makes room', async (t) => {
  const { gone, holds } = await started({ residentBytesMax: 1_000 });
  await holds('a', 900);
  await holds('a', 100);
  await holds('b', 900);
  t.deepEqual(gone, []);
});

test('busy actors stay, and so do those that hold nothing', async (t) => {
  const { cluster, gone, holds, busy, other, release } = await started({ residentBytesMax: 1_000 });
  await other('quiet');
  await holds('working', 800);
  const working = busy('working');
  await holds('a', 600);
  t.deepEqual(gone, [], 'no other is idle');
  await holds('b', 100);
  t.deepEqual(gone, ['a cap']);
  release();
  await cluster.settle(working);
  await holds('c', 900);
  t.deepEqual(gone, ['a cap', 'working cap']);
});
