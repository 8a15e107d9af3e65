import test from 'ava';
import { volatileActor } from '../../../cluster/activation/kind.js';
import type { Call } from '../../../cluster/activation/call.js';
import { ActorError, ClusterError } from '../../../cluster/errors.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

function nodeAt(cluster: SimulatedCluster, index: number): SimulatedNode {
  const node = cluster.nodes[index];
  if (node === undefined) throw new Error(`node ${index} does not exist`);
  return node;
}

test('every kind of failure keeps its type over a link', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: () => {
        throw new ActorError('too_much', 'no more', {
          detail: '{"left":0}',
          retryable: true,
          retryAfterMs: 40,
        });
      },
      read: () => Promise.reject(new RangeError('boom')),
      where: () => ({ process: 'x'.repeat(5_000_000) }),
      async *count() {
        yield { number: 1 };
        throw new ActorError('cut', 'enough');
      },
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const { node } of cluster.nodes) {
    const counter = node.actor(kind, 'acme', 'failing');
    const typed = await t.throwsAsync(cluster.settle(counter.add({ amount: 1 })), { instanceOf: ActorError });
    t.deepEqual(
      [typed?.code, typed?.detail, typed?.retry, typed?.retryAfterMs],
      ['too_much', '{"left":0}', 'later', 40],
    );
    const untyped = await t.throwsAsync(cluster.settle(counter.read({})), { instanceOf: ClusterError });
    t.is(untyped?.tag, 'handler_failed');
    t.regex(untyped?.message ?? '', /boom/);
    const stream = counter.count({ after: 0, to: 0, pauseMs: 0 });
    t.deepEqual(await cluster.settle(stream.next()), { done: false, value: { number: 1 } });
    const cut = await t.throwsAsync(cluster.settle(stream.next()), { instanceOf: ActorError });
    t.is(cut?.code, 'cut');
  }
  const errors = await Promise.allSettled(
    cluster.nodes.map(({ node }) => cluster.settle(node.actor(kind, 'acme', 'failing').where({}))),
  );
  const tags = errors.map((one) =>
    one.status === 'rejected' && one.reason instanceof ClusterError ? one.reason.tag : 'ok',
  );
  t.deepEqual(
    tags.sort((a, b) => a.localeCompare(b)),
    ['message_too_large', 'ok'],
  );
});

test('a method that an owner of an older version lacks is refused with its name', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileCounter(cluster.time);
  const { read } = CounterServiceDefinition.methods;
  const older = volatileActor({
    service: { ...CounterServiceDefinition, methods: { read } },
    name: kind.name,
    create: () => ({ read: () => ({ sum: 4 }) }),
  });
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.add(cluster.host('n2'), [older]);
  cluster.members.publish([nodeAt(cluster, 1).member.process]);
  await cluster.time.advance(200);
  const counter = nodeAt(cluster, 0).node.actor(kind, 'acme', 'one');
  t.deepEqual(await cluster.settle(counter.read({})), { sum: 4 });
  const error = await t.throwsAsync(cluster.settle(counter.add({ amount: 1 })), { instanceOf: ClusterError });
  t.is(error?.tag, 'unknown_method');
  t.regex(error?.message ?? '', /^unknown_method: \S+ has no method add$/);
});

test('a kind that the owner does not have is refused with unknown_kind', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileCounter(cluster.time);
  await cluster.add(cluster.host('n1'), [kind]);
  await cluster.add(cluster.host('n2'), []);
  await cluster.join();
  const { node } = nodeAt(cluster, 0);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) => cluster.settle(node.actor(kind, 'acme', `k${index}`).read({}))),
  );
  const tags = new Set(
    outcomes.flatMap((one) =>
      one.status === 'rejected' && one.reason instanceof ClusterError ? [one.reason.tag] : [],
    ),
  );
  t.deepEqual([...tags], ['unknown_kind']);
});

test('a message above the size limit is refused before it is sent', async (t) => {
  const cluster = new SimulatedCluster({ messageBytesMax: 1_000 });
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: () => ({ sum: 1 }),
      read: () => ({ sum: 0 }),
      where: () => ({ process: 'y'.repeat(2_000) }),
      async *count() {},
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const tags: string[] = [];
  for (const { node } of cluster.nodes) {
    await cluster.settle(node.actor(kind, 'acme', 'big').where({})).then(
      () => tags.push('ok'),
      (error: ClusterError) => tags.push(error.tag),
    );
  }
  t.deepEqual(tags.sort(), ['message_too_large', 'ok']);
});

test('a local or remote call without an answer ends at its deadline, and its signal is aborted', async (t) => {
  let aborted = 0;
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: (_: unknown, call: Call) =>
        new Promise<{ sum: number }>(() => {
          call.signal.addEventListener('abort', () => (aborted += 1));
        }),
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const [index, { node }] of cluster.nodes.entries()) {
    const startedAt = cluster.time.monotonicMs();
    const counter = node.actor(kind, 'acme', `stuck${index}`);
    const error = await t.throwsAsync(cluster.settle(counter.add({ amount: 1 }, { deadlineMs: 500 })), {
      instanceOf: ClusterError,
    });
    t.is(error?.tag, 'deadline_exceeded');
    t.true(cluster.time.monotonicMs() - startedAt < 600);
    await cluster.time.advance(100);
    t.is(aborted, index + 1);
    const waiting = await t.throwsAsync(cluster.settle(counter.add({ amount: 1 }, { deadlineMs: 200 })), {
      instanceOf: ClusterError,
    });
    t.is(waiting?.tag, 'deadline_exceeded');
  }
});

test('an aborted call ends at once, and its handler is cancelled', async (t) => {
  const seen: string[] = [];
  const cluster = new SimulatedCluster();
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async (_: unknown, call: Call) => {
        await sleep(cluster.time, 5_000, call.signal).catch((error: unknown) => {
          seen.push(error instanceof ClusterError ? error.tag : 'other');
        });
        return { sum: 1 };
      },
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const { node } of cluster.nodes) {
    const abort = new AbortController();
    const call = node.actor(kind, 'acme', 'slow').add({ amount: 1 }, { signal: abort.signal });
    const outcome = t.throwsAsync(call, { instanceOf: ClusterError, message: /cancelled/ });
    await cluster.time.advance(50);
    abort.abort();
    await outcome;
    await cluster.time.advance(50);
  }
  t.deepEqual(seen, ['cancelled', 'cancelled']);
});
