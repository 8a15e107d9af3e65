import test from 'ava';
import { durableCounter, volatileCounter } from '../../../cluster/example/counter.js';
import { ClusterError } from '../../../cluster/errors.js';
import { durableActor } from '../../../cluster/activation/kind.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { addressText } from '../../../cluster/ids/ids.js';
import { CounterTables } from '../../../cluster/simulation/counter-tables.js';
import { MemoryFenceStore } from '../../../cluster/simulation/fence-store.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

/** Three nodes with the durable counter. `owner` owns the key; `next` owns it after `owner` has left the view. */
async function threeNodes() {
  const cluster = new SimulatedCluster();
  const store = new MemoryFenceStore(new CounterTables(), cluster.time, {
    delayMs: () => 1,
    fault: () => 'none',
  });
  const commits = new GroupCommit(store, cluster.config, cluster.time, cluster.random);
  const counter = durableCounter(commits, cluster.time);
  // The same kind without a resume rule: its streams may start again, but must not repeat messages.
  const plain = durableActor({
    service: CounterServiceDefinition,
    name: 'test.Plain',
    methods: { count: { lane: 'control', idempotent: true }, read: { lane: 'control' } },
    commits,
    load: (address) => ({ counter: addressText(address) }),
    create: () => ({
      add: () => ({ sum: 0 }),
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      count: (input, call) => endless(input.pauseMs, call.signal, cluster),
    }),
  });
  const kinds = [counter, plain];
  const [owner, next, edge] = [
    await cluster.add(cluster.host('n1'), kinds),
    await cluster.add(cluster.host('n2'), kinds),
    await cluster.add(cluster.host('n3'), kinds),
  ];
  cluster.members.publish([owner.member.process]);
  await cluster.time.advance(200);
  return { cluster, counter, plain, owner, next, edge };
}

async function* endless(pauseMs: number, signal: AbortSignal, cluster: SimulatedCluster) {
  for (let number = 1; !signal.aborted; number += 1) {
    await sleep(cluster.time, pauseMs);
    yield { number };
  }
}

/** All nodes except the owner receive the new view; the owner continues without it. */
async function takenOver(cluster: SimulatedCluster, owner: SimulatedNode, next: SimulatedNode) {
  const others = cluster.nodes.filter((node) => node !== owner).map(({ member }) => member.process);
  cluster.members.publish([next.member.process], others);
  await cluster.time.advance(200);
}

test('local and remote streams show their epoch', async (t) => {
  const { cluster, counter, owner, edge } = await threeNodes();
  for (const { node } of [owner, edge]) {
    const stream = node.actor(counter, 'acme', 'shown').count({ after: 0, to: 3, pauseMs: 10 });
    const epochs: number[] = [];
    stream.onEpoch((epoch) => epochs.push(Number(epoch)));
    t.is(stream.epoch, undefined);
    await cluster.settle(stream.next());
    t.is(Number(stream.epoch), 1);
    t.deepEqual(epochs, [1]);
    stream.onEpoch((epoch) => epochs.push(Number(epoch)));
    t.deepEqual(epochs, [1, 1], 'a listener added after the start is called at once');
    stream.cancel();
  }
});

test('a stream of an actor without durable state has epoch 0', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileCounter(cluster.time);
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  for (const { node } of cluster.nodes) {
    const stream = node.actor(kind, 'acme', 'k').count({ after: 0, to: 1, pauseMs: 0 });
    await cluster.settle(stream.next());
    t.is(Number(stream.epoch), 0);
  }
});

test('the epoch is known before the first message, while a turn is still preparing', async (t) => {
  const { cluster, counter, edge } = await threeNodes();
  const stream = edge.node.actor(counter, 'acme', 'early').count({ after: 0, to: 1, pauseMs: 60_000 });
  let lastEpoch = -1;
  stream.onEpoch((epoch) => {
    lastEpoch = Number(epoch);
  });
  await cluster.time.advance(1_000);
  t.is(lastEpoch, 1);
  t.is(stream.buffered, 0);
  stream.cancel();
});

test('a stream of few small messages stays open although its reader sends no credit', async (t) => {
  const { cluster, counter, edge } = await threeNodes();
  const stream = edge.node.actor(counter, 'acme', 'lasting').count({ after: 0, to: 10_000, pauseMs: 100 });
  const epochs: number[] = [];
  stream.onEpoch((epoch) => epochs.push(Number(epoch)));
  await cluster.time.advance(20_000);
  t.deepEqual(epochs, [1]);
  t.is(edge.node.describe().counts.retries, 0);
  t.true(stream.buffered > 150);
  stream.cancel();
});

test('an answer with a newer epoch ends an older stream of the actor, which continues at the successor', async (t) => {
  const { cluster, counter, owner, next, edge } = await threeNodes();
  const reference = edge.node.actor(counter, 'acme', 'moved');
  const stream = reference.count({ after: 0, to: 1_000, pauseMs: 100 });
  const epochs: number[] = [];
  stream.onEpoch((epoch) => epochs.push(Number(epoch)));
  const seen: { number: number; epoch: number }[] = [];
  const reading = (async () => {
    for await (const { number } of stream) seen.push({ number, epoch: Number(stream.epoch) });
  })();
  await cluster.time.advance(1_000);
  await takenOver(cluster, owner, next);
  await cluster.time.advance(1_000);
  t.deepEqual(epochs, [1], 'no newer epoch is known yet');
  await cluster.settle(reference.read({}));
  await cluster.time.advance(3_000);
  t.deepEqual(epochs, [1, 2]);
  t.is(owner.node.describe().busy, 0, 'the older producer was stopped');
  t.is(next.node.describe().busy, 1);
  t.deepEqual(
    seen.map(({ number }) => number),
    seen.map((_, index) => index + 1),
  );
  t.deepEqual([seen[0]?.epoch, seen.at(-1)?.epoch], [1, 2]);
  stream.cancel();
  await cluster.settle(reading);
});

test('a local activation also ends the older streams of its actor', async (t) => {
  const { cluster, counter, owner, next } = await threeNodes();
  const reference = next.node.actor(counter, 'acme', 'taken');
  const stream = reference.count({ after: 0, to: 1_000, pauseMs: 100 });
  await cluster.settle(stream.next());
  await takenOver(cluster, owner, next);
  await cluster.settle(reference.read({}));
  await cluster.time.until(() => next.node.describe().busy === 1, 5_000);
  t.is(owner.node.describe().busy, 0);
  stream.cancel();
});

test('a stream without a resume rule ends as fenced, and can be requested again', async (t) => {
  const { cluster, plain, owner, next, edge } = await threeNodes();
  const reference = edge.node.actor(plain, 'acme', 'cut');
  const stream = reference.count({ after: 0, to: 0, pauseMs: 100 });
  await cluster.settle(stream.next());
  await takenOver(cluster, owner, next);
  await cluster.settle(reference.read({}));
  const reading = (async () => {
    for await (const _ of stream) continue;
  })();
  const error = await t.throwsAsync(cluster.settle(reading), { instanceOf: ClusterError });
  t.is(error?.tag, 'fenced');
  t.is(error?.retry, 'same');
  const again = reference.count({ after: 0, to: 0, pauseMs: 100 });
  await cluster.settle(again.next());
  t.is(Number(again.epoch), 2);
  again.cancel();
});
