import test from 'ava';
import { volatileActor } from '../../../cluster/activation/kind.js';
import type { Call } from '../../../cluster/activation/call.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { viewNumber } from '../../../cluster/ids/ids.js';
import { makeView } from '../../../cluster/membership/view.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

async function threeNodes(changes: object = {}) {
  const cluster = new SimulatedCluster(changes);
  const kind = volatileCounter(cluster.time);
  for (const name of ['n1', 'n2', 'n3']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  return { cluster, kind };
}

function nodeAt(cluster: SimulatedCluster, index: number): SimulatedNode {
  const node = cluster.nodes[index];
  if (node === undefined) throw new Error(`node ${index} does not exist`);
  return node;
}

test('calls from every node reach the single owner of an actor', async (t) => {
  const { cluster, kind } = await threeNodes();
  for (let key = 0; key < 20; key += 1) {
    const places = new Set<string>();
    for (const { node } of cluster.nodes) {
      const counter = node.actor(kind, 'acme', `c${key}`);
      places.add((await cluster.settle(counter.where({}))).process);
      await cluster.settle(counter.add({ amount: 2 }));
    }
    t.is(places.size, 1);
    t.is((await cluster.settle(nodeAt(cluster, 0).node.actor(kind, 'acme', `c${key}`).read({}))).sum, 6);
  }
});

test('the same key in two groups addresses two actors', async (t) => {
  const { cluster, kind } = await threeNodes();
  const { node } = nodeAt(cluster, 0);
  await cluster.settle(node.actor(kind, 'one', 'k').add({ amount: 5 }));
  t.is((await cluster.settle(node.actor(kind, 'two', 'k').read({}))).sum, 0);
});

test('local and remote streams arrive in order and end once', async (t) => {
  const { cluster, kind } = await threeNodes();
  for (const { node } of cluster.nodes) {
    const stream = node.actor(kind, 'acme', 'streamed').count({ after: 0, to: 1_000, pauseMs: 0 });
    const seen: number[] = [];
    const read = (async () => {
      for await (const { number } of stream) seen.push(number);
    })();
    await cluster.settle(read);
    t.deepEqual(
      seen,
      Array.from({ length: 1_000 }, (_, index) => index + 1),
    );
    t.deepEqual(stream.end, { how: 'completed' });
  }
});

test('a reader that stops reading pauses the producer, and cancelling the stream stops it', async (t) => {
  let made = 0;
  let stopped = false;
  const cluster = new SimulatedCluster({ callCreditBytes: 20_000 });
  const kind = volatileActor({
    service: CounterServiceDefinition,
    methods: { count: { lane: 'control' } },
    create: () => ({
      add: () => ({ sum: 0 }),
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {
        try {
          for (;;) {
            made += 1;
            yield { number: made };
          }
        } finally {
          stopped = true;
        }
      },
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const { node } of cluster.nodes) {
    made = 0;
    stopped = false;
    const stream = node.actor(kind, 'acme', 'held').count({ after: 0, to: 0, pauseMs: 0 });
    await cluster.settle(stream.next());
    await cluster.time.advance(1_000);
    t.true(made < 1_000, `${made} messages were produced for one that was read`);
    stream.cancel();
    await cluster.time.advance(100);
    t.true(stopped);
    t.deepEqual(stream.end, { how: 'cancelled' });
  }
});

test('long messages are sent in chunks and arrive complete', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: () => ({ sum: 1 }),
      read: () => ({ sum: 0 }),
      where: () => ({ process: 'abc'.repeat(300_000) }),
      async *count() {},
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const { node } of cluster.nodes) {
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((key) => cluster.settle(node.actor(kind, 'acme', key).where({}))),
    );
    for (const answer of answers) t.is(answer.process, 'abc'.repeat(300_000));
  }
});

test('a call between two nodes that each take the other for the owner ends after a bounded number of hops', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileCounter(cluster.time);
  const one = await cluster.add(cluster.host('n1'), [kind]);
  const two = await cluster.add(cluster.host('n2'), [kind]);
  one.membership.adopt(makeView(viewNumber(1), [two.member]));
  two.membership.adopt(makeView(viewNumber(1), [one.member]));
  await cluster.time.advance(200);
  const asked = one.node.actor(kind, 'acme', 'k').add({ amount: 1 }, { deadlineMs: 30_000 });
  const startedMs = cluster.time.monotonicMs();
  await t.throwsAsync(cluster.settle(asked), { message: /^moved/ });
  t.true(cluster.time.monotonicMs() - startedMs < 1_000, 'it does not go on until its deadline');
  t.is(one.node.describe().counts.movedAnswers, cluster.config.hopsMax + 1);
});

test('the trace context reaches the handler, and nested calls inherit it with the deadline', async (t) => {
  const seen: unknown[] = [];
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: ({ address }) => ({
      add: async (input: { amount: number }, call: Call) => {
        seen.push([
          address.key,
          call.traceparent,
          call.tracestate,
          call.deadlineAtMs - cluster.time.monotonicMs() <= 400,
        ]);
        if (address.key === 'inner') return { sum: 1 };
        await nodeAt(cluster, 1)
          .node.actor(kind, 'acme', 'inner')
          .add(input, { within: call, deadlineMs: 9_000 });
        return { sum: 2 };
      },
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'outer');
  await cluster.settle(
    counter.add({ amount: 1 }, { traceparent, tracestate: 'v=1', deadlineMs: 400, requestId: 'r' }),
  );
  t.deepEqual(seen, [
    ['outer', traceparent, 'v=1', true],
    ['inner', traceparent, 'v=1', true],
  ]);
});
