import test from 'ava';
import { volatileActor, type ActorKindOf } from '../../../cluster/activation/kind.js';
import type { Call } from '../../../cluster/activation/call.js';
import { ClusterError } from '../../../cluster/errors.js';
import { type CounterService } from '../../../cluster/example/counter.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { collector } from '../../support/clocks/collector.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

/** The methods of a counter that these tests do not call. */
const others = {
  read: () => ({ sum: 0 }),
  where: () => ({ process: '' }),
  async *count() {},
};

function nodeAt(cluster: SimulatedCluster, index: number): SimulatedNode {
  const node = cluster.nodes[index];
  if (node === undefined) throw new Error(`node ${index} does not exist`);
  return node;
}

test('turns run one at a time in order, while control calls overtake them', async (t) => {
  const order: string[] = [];
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    methods: { read: { lane: 'control' } },
    create: () => ({
      add: async ({ amount }: { amount: number }) => {
        order.push(`begin${amount}`);
        await sleep(cluster.time, 100);
        order.push(`end${amount}`);
        return { sum: amount };
      },
      read: () => {
        order.push('read');
        return { sum: 0 };
      },
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'ordered');
  const calls = [1, 2, 3].map((amount) => counter.add({ amount }));
  await cluster.time.advance(50);
  await cluster.settle(counter.read({}));
  await cluster.settle(Promise.all(calls));
  t.deepEqual(order, ['begin1', 'read', 'end1', 'begin2', 'end2', 'begin3', 'end3']);
});

test('a call that is made right at the end of a turn does not overtake the waiting ones', async (t) => {
  const order: number[] = [];
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async ({ amount }: { amount: number }) => {
        order.push(amount);
        await sleep(cluster.time, 100);
        return { sum: amount };
      },
      ...others,
    }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'ordered');
  const late = counter.add({ amount: 1 }).then(() => counter.add({ amount: 3 }));
  const waiting = counter.add({ amount: 2 });
  await cluster.settle(Promise.all([late, waiting]));
  t.deepEqual(order, [1, 2, 3]);
});

test('a turn that calls letNextIn still answers only when it returns', async (t) => {
  const order: string[] = [];
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async ({ amount }: { amount: number }, call: Call) => {
        order.push(`begin${amount}`);
        call.letNextIn();
        await sleep(cluster.time, 100);
        return { sum: amount };
      },
      ...others,
    }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'open');
  const calls = [1, 2].map(async (amount) => {
    await counter.add({ amount });
    order.push(`answer${amount}`);
  });
  await cluster.settle(Promise.all(calls));
  t.deepEqual(order, ['begin1', 'begin2', 'answer1', 'answer2']);
});

test('a full mailbox refuses at once and suggests a retry pause', async (t) => {
  const cluster = new SimulatedCluster({ mailboxCountMax: 5 });
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async () => {
        await sleep(cluster.time, 1_000);
        return { sum: 0 };
      },
      ...others,
    }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'full');
  const calls = Array.from({ length: 7 }, () => counter.add({ amount: 1 }));
  const error = await t.throwsAsync(calls[6] ?? Promise.resolve(), { instanceOf: ClusterError });
  t.is(error?.tag, 'overloaded');
  t.is(error?.retryAfterMs, cluster.config.overloadRetryMs);
  await cluster.settle(Promise.all(calls.slice(0, 6)));
});

test('a call that returns to a waiting turn through another actor is refused instead of deadlocking', async (t) => {
  const cluster = new SimulatedCluster();
  const kind: ActorKindOf<CounterService> = volatileActor({
    service: CounterServiceDefinition,
    create: ({ address }) => ({
      add: async ({ amount }: { amount: number }, call: Call) => {
        const next = address.key === 'a' ? 'b' : 'a';
        const node = nodeAt(cluster, amount % cluster.nodes.length).node;
        return node.actor(kind, 'acme', next).add({ amount }, { within: call });
      },
      ...others,
    }),
  });
  for (const name of ['n1', 'n2', 'n3']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const error = await t.throwsAsync(
    cluster.settle(nodeAt(cluster, 0).node.actor(kind, 'acme', 'a').add({ amount: 1 })),
    { instanceOf: ClusterError },
  );
  t.is(error?.tag, 'call_cycle');
});

test('a repeated request id joins a running call or gets the first answer, and another payload is refused', async (t) => {
  let runs = 0;
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async ({ amount }: { amount: number }) => {
        runs += 1;
        await sleep(cluster.time, 100);
        return { sum: amount };
      },
      ...others,
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const [index, { node }] of cluster.nodes.entries()) {
    runs = 0;
    const counter = node.actor(kind, 'acme', 'same');
    const options = { requestId: `r-${index}` };
    const both = await cluster.settle(
      Promise.all([counter.add({ amount: 4 }, options), counter.add({ amount: 4 }, options)]),
    );
    t.deepEqual(both, [{ sum: 4 }, { sum: 4 }]);
    t.deepEqual(await cluster.settle(counter.add({ amount: 4 }, options)), { sum: 4 });
    t.is(runs, 1);
    // A local request has no bytes and a remote one has; both count as the same request.
    const everywhere = cluster.nodes.map((one) =>
      one.node.actor(kind, 'acme', 'same').add({ amount: 4 }, options),
    );
    t.deepEqual(await cluster.settle(Promise.all(everywhere)), [{ sum: 4 }, { sum: 4 }]);
    t.is(runs, 1);
  }
  const remote = cluster.nodes.map(({ node }) =>
    node.actor(kind, 'acme', 'same').add({ amount: 9 }, { requestId: 'r-0' }),
  );
  const outcomes = await cluster.settle(Promise.allSettled(remote));
  t.true(
    outcomes.every(
      (one) =>
        one.status === 'rejected' &&
        one.reason instanceof ClusterError &&
        one.reason.tag === 'request_conflict',
    ),
  );
});

test('a request that failed in a way that may be retried runs again under its id, and a final failure is repeated', async (t) => {
  let runs = 0;
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: ({ amount }: { amount: number }) => {
        runs += 1;
        if (runs === 1) throw new ClusterError('overloaded', 'as planned');
        if (amount > 5) throw new ClusterError('write_rejected', 'as planned');
        return { sum: amount };
      },
      ...others,
    }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'again');
  const add = (amount: number, requestId: string) => cluster.settle(counter.add({ amount }, { requestId }));
  await t.throwsAsync(add(1, 'retried'), { message: /overloaded/ });
  t.deepEqual(await add(1, 'retried'), { sum: 1 });
  await t.throwsAsync(add(9, 'final'), { message: /write_rejected/ });
  await t.throwsAsync(add(9, 'final'), { message: /write_rejected/ });
  t.is(runs, 3);
});

test('a call that ends in a mailbox gives its body back while the turn before it still runs', async (t) => {
  const inputs: WeakRef<object>[] = [];
  const collect = collector();
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async () => {
        await sleep(cluster.time, 60_000);
        return { sum: 0 };
      },
      ...others,
    }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'busy');
  const running = counter.add({ amount: 0 }, { deadlineMs: 90_000 });
  await cluster.time.advance(10);
  // In a function of its own, so that no variable of this test holds the bodies.
  const send = (): Promise<unknown>[] =>
    Array.from({ length: 200 }, (_, amount) => {
      const body = { amount, filler: Buffer.alloc(10_000) };
      inputs.push(new WeakRef(body));
      return counter.add(body, { deadlineMs: 100 }).catch((error: unknown) => String(error));
    });
  const ended = Promise.all(send());
  await cluster.time.advance(500);
  t.true((await ended).every((failure) => String(failure).includes('deadline_exceeded')));
  await cluster.time.advance(20);
  collect();
  t.true(inputs.filter((one) => one.deref() !== undefined).length <= 16);
  await cluster.settle(running);
});
