import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Call } from '../../../cluster/activation/call.js';
import { durableActor, volatileActor } from '../../../cluster/activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../../../cluster/config.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { addressText, slot } from '../../../cluster/ids/ids.js';
import { queueBounds, type QueueName } from '../../../cluster/measures/queues.js';
import { DurableTimers } from '../../../cluster/recovery/durable-timers.js';
import { CounterTables } from '../../../cluster/simulation/counter-tables.js';
import { MemoryFenceStore } from '../../../cluster/simulation/fence-store.js';
import { VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { ReplyStream } from '../../../cluster/streams/reply-stream.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SlotNode } from '../../support/builders/recovery-node.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

function lengthOf({ node }: SimulatedNode, wanted: QueueName): { count: number; bytes: number } {
  const length = { count: 0, bytes: 0 };
  node.readQueues((queue, count, bytes = 0) => {
    if (queue !== wanted) return;
    length.count = Math.max(length.count, count);
    length.bytes = Math.max(length.bytes, bytes);
  });
  return length;
}

/** Two nodes with an actor whose turns take a second; `key` is owned by the second node. */
async function two(changes: Partial<ClusterConfig>, letsIn = false) {
  const cluster = new SimulatedCluster(changes);
  let running = 0;
  const most = { running: 0 };
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async ({ amount }: { amount: number }, call: Call) => {
        running += 1;
        most.running = Math.max(most.running, running);
        if (letsIn) call.letNextIn();
        await sleep(cluster.time, 1_000);
        running -= 1;
        return { sum: amount };
      },
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  const one = await cluster.add(cluster.host('n1'), [kind]);
  const other = await cluster.add(cluster.host('n2'), [kind]);
  const keyOf = ({ node }: SimulatedNode): string => {
    for (let index = 0; ; index += 1)
      if (node.owns(node.slotOf(kind, 'acme', `k${index}`))) return `k${index}`;
  };
  return { cluster, kind, one, other, keyOf, most };
}

const tagOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error: unknown) => String(error).replace(/^[^:]*: /, ''),
  );

test('calls that wait for a link are bounded, and leave it when they are cancelled', async (t) => {
  const { cluster, kind, one, other, keyOf } = await two({ linkCallsMax: 3 });
  cluster.network.cut('n1', 'n2');
  await cluster.join();
  const key = keyOf(other);
  const stop = new AbortController();
  const cancelled = [1, 2].map((amount) =>
    tagOf(one.node.actor(kind, 'acme', key).add({ amount }, { signal: stop.signal })),
  );
  const third = tagOf(one.node.actor(kind, 'acme', key).add({ amount: 3 }));
  const refused = tagOf(one.node.actor(kind, 'acme', key).add({ amount: 4 }));
  t.regex(await cluster.settle(refused), /3 calls to n2 are running already \(linkCallsMax\)/);
  t.is(lengthOf(one, 'link_calls').count, 3);
  stop.abort();
  t.regex((await cluster.settle(Promise.all(cancelled))).join(), /cancelled/);
  const { count, bytes } = lengthOf(one, 'link_calls');
  t.is(count, 1);
  t.true(bytes > 0 && bytes < 10, `${bytes} bytes`);
  cluster.network.healAll();
  t.is(await cluster.settle(third), 'answered');
  t.is(lengthOf(one, 'link_calls').bytes, 0);
});

test('turns that let the next one in run beside each other up to the bound of the mailbox', async (t) => {
  const { cluster, kind, other, keyOf, most } = await two({ mailboxCountMax: 3 }, true);
  await cluster.join();
  const counter = other.node.actor(kind, 'acme', keyOf(other));
  const outcomes = Promise.all(Array.from({ length: 10 }, (_, amount) => tagOf(counter.add({ amount }))));
  await cluster.time.advance(500);
  // Three beside each other, one that keeps the lane, three that wait.
  t.is(most.running, 4);
  t.is((await cluster.settle(outcomes)).filter((outcome) => outcome === 'answered').length, 7);
});

test('repeats that wait for one answer are bounded', async (t) => {
  const { cluster, kind, other, keyOf } = await two({ repeatsMax: 2 });
  await cluster.join();
  const counter = other.node.actor(kind, 'acme', keyOf(other));
  const outcomes = Array.from({ length: 4 }, () => tagOf(counter.add({ amount: 1 }, { requestId: 'same' })));
  t.regex(await cluster.settle(outcomes[3] ?? tagOf(Promise.resolve())), /repeatsMax/);
  t.deepEqual(await cluster.settle(Promise.all(outcomes.slice(0, 3))), ['answered', 'answered', 'answered']);
});

test('the bytes of all mailboxes of a node are bounded together', async (t) => {
  const { cluster, kind, one, other, keyOf } = await two({ nodeQueueBytes: 5 });
  await cluster.join();
  const counter = one.node.actor(kind, 'acme', keyOf(other));
  const outcomes = Array.from({ length: 5 }, () => tagOf(counter.add({ amount: 1 })));
  t.regex(await cluster.settle(outcomes[4] ?? tagOf(Promise.resolve())), /nodeQueueBytes/);
  t.true(lengthOf(other, 'node_mailboxes').bytes <= 5);
  await cluster.settle(Promise.all(outcomes));
  t.is(lengthOf(other, 'node_mailboxes').bytes, 0);
});

test('calls from a peer with a newer view wait for it no longer than a second', async (t) => {
  const { cluster, kind, one, other, keyOf } = await two({});
  await cluster.join();
  const counter = one.node.actor(kind, 'acme', keyOf(other));
  await cluster.settle(counter.read({}));
  other.membership.catchUp = () => new Promise(() => undefined);
  const processes = [one.member.process, other.member.process];
  cluster.members.publish(processes, [one.member.process]);
  await cluster.time.advance(100);
  const outcome = tagOf(counter.read({}));
  await cluster.time.advance(100);
  t.is(lengthOf(other, 'calls_before_view').count, 1);
  t.is(await cluster.settle(outcome), 'answered');
  t.is(lengthOf(other, 'calls_before_view').count, 0);
});

test('writes of one actor are bounded, and further ones fail at once', async (t) => {
  const cluster = new SimulatedCluster({ writeQueueMax: 2 });
  const store = new MemoryFenceStore(new CounterTables(), cluster.time, {
    delayMs: () => 100,
    fault: () => 'none',
  });
  const outcomes: string[] = [];
  const kind = durableActor({
    service: CounterServiceDefinition,
    name: 'test.Writer',
    commits: new GroupCommit(store, cluster.config, cluster.time, cluster.random),
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => ({
      add: async () => {
        const write = (requestId: string) =>
          tagOf(activation.write({ counter: addressText(activation.address), requestId, sum: 1 }));
        outcomes.push(...(await Promise.all(['a', 'b', 'c'].map(write))));
        return { sum: 1 };
      },
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  const one = await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  await cluster.settle(one.node.actor(kind, 'acme', 'k').add({ amount: 1 }));
  t.deepEqual(outcomes.slice(0, 2), ['answered', 'answered']);
  t.regex(outcomes[2] ?? '', /2 writes of test.Writer k are not finished \(writeQueueMax\)/);
});

test('a stream that is forwarded to a running turn goes on only as its reader takes it, and ends with it', async (t) => {
  const cluster = new SimulatedCluster({ callCreditBytes: 1_000, chunkBytes: 1_000 });
  const store = new MemoryFenceStore(new CounterTables(), cluster.time, {
    delayMs: () => 1,
    fault: () => 'none',
  });
  const streams = { sent: 0, ended: 0 };
  const kind = durableActor({
    service: CounterServiceDefinition,
    name: 'test.Streaming',
    methods: { count: { lane: 'control' } },
    commits: new GroupCommit(store, cluster.config, cluster.time, cluster.random),
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => ({
      add: async () => {
        await activation.stamp({ set: 'busy', process: activation.process, forMs: 60_000 });
        await sleep(cluster.time, 60_000);
        return { sum: 1 };
      },
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {
        try {
          for (let number = 1; ; number += 1) {
            streams.sent = number;
            yield { number };
          }
        } finally {
          streams.ended += 1;
        }
      },
    }),
  });
  const nodes = [];
  for (const name of ['n1', 'n2', 'n3']) nodes.push(await cluster.add(cluster.host(name), [kind]));
  const [old, second, third] = nodes;
  if (old === undefined || second === undefined || third === undefined) throw new Error('a node is missing');
  await cluster.join();
  let key = 'k';
  while (!old.node.owns(old.node.slotOf(kind, 'acme', key))) key += 'k';
  old.node
    .actor(kind, 'acme', key)
    .add({ amount: 1 }, { deadlineMs: 100_000 })
    .catch(() => undefined);
  await cluster.time.advance(100);
  cluster.members.publish([second.member.process, third.member.process]);
  await cluster.time.advance(100);
  const isSecond = second.node.owns(second.node.slotOf(kind, 'acme', key));
  // From the new owner itself, whose reader counts messages, and from a third node, which counts bytes.
  for (const from of isSecond ? [second, third] : [third, second]) {
    const before = streams.ended;
    const stream = from.node.actor(kind, 'acme', key).count({ after: 0, to: 0, pauseMs: 0 });
    await cluster.time.advance(500);
    t.true(streams.sent > 10 && streams.sent < 80, `${streams.sent} messages without a reader`);
    for (let number = 1; number <= 300; number += 1) {
      t.is((await cluster.settle(stream.next())).value?.number, number);
    }
    t.true(streams.sent < 380, `${streams.sent} messages were sent`);
    stream.cancel();
    await cluster.time.advance(500);
    t.is(streams.ended, before + 1, 'the producer stops');
    streams.sent = 0;
  }
});

test('a stream that continues at another owner gets no more credit than its reader has room', async (t) => {
  const granted: number[] = [];
  const source = { grant: (amount: number) => granted.push(amount), cancel() {} };
  const stream = new ReplyStream<number>(100, source);
  t.is(stream.room, 100);
  stream.push(1, 90);
  stream.push(2, 30);
  t.is(stream.room, 0);
  stream.attach(source);
  await stream.next();
  await stream.next();
  // 20 of the 120 went beyond the window: the next producer has 100, as the first one had.
  t.deepEqual(granted, [70]);
  stream.push(3, 30);
  await stream.next();
  t.deepEqual(granted, [70, 60]);
  t.is(stream.bufferedCost, 0);
});

test('only the next timers are in memory, and each fires at its time', async (t) => {
  const time = new VirtualTime();
  const node = new SlotNode();
  const rows = new Map(Array.from({ length: 40 }, (_, index) => [`t${index}`, 2_000 + index * 500]));
  const late: number[] = [];
  let most = 0;
  const config = clusterConfig({ timersMax: 8 });
  const timers = new DurableTimers(
    node,
    {
      upcoming: async (_slots, horizonMs, limit) =>
        [...rows]
          .map(([id, at]) => ({ id, slot: slot(3), dueInMs: at - time.monotonicMs() }))
          .filter(({ dueInMs }) => dueInMs <= horizonMs)
          .toSorted((first, second) => first.dueInMs - second.dueInMs)
          .slice(0, limit),
      fire: async (id) => {
        late.push(time.monotonicMs() - (rows.get(id) ?? 0));
        rows.delete(id);
        return undefined;
      },
    },
    config,
    time,
    (_asked, error) => {
      throw error;
    },
  );
  time.afterEach = () => {
    most = Math.max(most, timers.waiting, timers.held / 2);
  };
  node.view('me');
  timers.start();
  await time.advance(100);
  // Newly written ones, earlier and later than those in memory.
  for (const dueInMs of [50, 100, 150, 10_250, 20_250]) {
    rows.set(`new${dueInMs}`, time.monotonicMs() + dueInMs);
    timers.armed({ id: `new${dueInMs}`, slot: slot(3), dueInMs });
  }
  await time.advance(30_000);
  t.is(late.length, 45);
  t.true(
    late.every((ms) => ms < 10),
    `${Math.max(...late)} ms late`,
  );
  t.true(most <= 8, `${most} timers in memory`);
  timers.stop();
});

test('the page lists each queue with its settings', (t) => {
  const page = readFileSync('docs/protocol/queues.md', 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name ?? '');
  t.deepEqual(new Set(listed), new Set(Object.keys(queueBounds(clusterConfig()))));
  const settings = [...page.matchAll(/`(\w+(?:Max|Bytes))`/g)].map(([, name]) => name ?? '');
  t.deepEqual(
    settings.filter((name) => !(name in clusterConfig())),
    [],
  );
});
