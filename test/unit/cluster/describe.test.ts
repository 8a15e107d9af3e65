import test from 'ava';
import type { Call } from '../../../cluster/activation/call.js';
import { volatileActor } from '../../../cluster/activation/kind.js';
import type { ClusterConfig } from '../../../cluster/config.js';
import { durableCounter } from '../../../cluster/example/counter.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { processId, requestId } from '../../../cluster/ids/ids.js';
import { measuresOf } from '../../../cluster/node/measures.js';
import { CounterTables } from '../../../cluster/simulation/counter-tables.js';
import { MemoryFenceStore } from '../../../cluster/simulation/fence-store.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

/** A turn takes as many ms as it adds; `count` waits 50 ms before its first message. */
function slowKind(cluster: SimulatedCluster) {
  return volatileActor({
    service: CounterServiceDefinition,
    name: 'test.Slow',
    methods: { read: { lane: 'control' }, count: { lane: 'control' } },
    create: () => ({
      add: async ({ amount }: { amount: number }, call: Call) => {
        await sleep(cluster.time, amount, call.signal);
        return { sum: amount };
      },
      read: async () => {
        await sleep(cluster.time, 30);
        return { sum: 0 };
      },
      where: () => ({ process: '' }),
      async *count() {
        await sleep(cluster.time, 50);
        yield { number: 1 };
      },
    }),
  });
}

async function nodes(names: readonly string[], changes: Partial<ClusterConfig> = {}) {
  const cluster = new SimulatedCluster(changes);
  const slow = slowKind(cluster);
  const store = new MemoryFenceStore(new CounterTables(), cluster.time, {
    delayMs: () => 1,
    fault: () => 'none',
  });
  const commits = new GroupCommit(store, cluster.config, cluster.time, cluster.random);
  const counter = durableCounter(commits, cluster.time);
  const added: SimulatedNode[] = [];
  for (const name of names) added.push(await cluster.add(cluster.host(name), [slow, counter]));
  const [one] = added;
  if (one === undefined) throw new Error('no node');
  await cluster.join();
  return { cluster, slow, counter, one, added };
}

/** A key whose actor the node owns. */
function keyOf({ node }: SimulatedNode, kind: Parameters<typeof node.slotOf>[0]): string {
  for (let index = 0; index < 1_000; index += 1) {
    if (node.owns(node.slotOf(kind, 'acme', `k${index}`))) return `k${index}`;
  }
  throw new Error('no key is owned by that node');
}

test('a description shows the number and age of waiting calls, without cancelled ones', async (t) => {
  const { cluster, slow, one } = await nodes(['n1']);
  const reference = one.node.actor(slow, 'acme', 'k');
  const first = reference.add({ amount: 1_000 });
  await cluster.time.advance(100);
  const giveUp = new AbortController();
  const second = t.throwsAsync(reference.add({ amount: 10 }, { signal: giveUp.signal }));
  await cluster.time.advance(300);
  const third = reference.add({ amount: 10 });
  await cluster.time.advance(50);
  t.like(one.node.describe(), { waiting: 2, oldestWaitingMs: 350, busy: 1, residents: 1 });
  giveUp.abort();
  await second;
  t.like(one.node.describe(), { waiting: 1, oldestWaitingMs: 50 });
  await cluster.settle(Promise.all([first, third]));
  t.like(one.node.describe(), { waiting: 0, oldestWaitingMs: 0, busy: 0 });
});

test('waiting and running times of turns are measured, and the time to the first message of streams', async (t) => {
  const { cluster, slow, one } = await nodes(['n1']);
  const reference = one.node.actor(slow, 'acme', 'k');
  await cluster.settle(Promise.all([reference.add({ amount: 400 }), reference.add({ amount: 30 })]));
  await cluster.settle(reference.count({ after: 0, to: 0, pauseMs: 0 }).next());
  const { waited, ran, firstMessage } = one.node.describe().turns;
  t.deepEqual([waited.count, waited.sumMs], [2, 400]);
  t.deepEqual([ran.count, ran.sumMs], [2, 430]);
  t.true(ran.p50Ms > 16 && ran.p50Ms <= 32 && ran.p99Ms > 256 && ran.p99Ms <= 512);
  t.deepEqual([firstMessage.count, firstMessage.sumMs], [1, 50]);
});

test('the count of busy actors is correct with both lanes, streams, cancels and a lost lease', async (t) => {
  const { cluster, slow, one } = await nodes(['n1']);
  const [a, b] = ['a', 'b'].map((key) => one.node.actor(slow, 'acme', key));
  if (a === undefined || b === undefined) throw new Error('two');
  const calls = [a.add({ amount: 100 }), a.read({}), b.read({}), b.read({})];
  const stream = b.count({ after: 0, to: 0, pauseMs: 0 });
  await cluster.time.advance(10);
  t.is(one.node.describe().busy, 2);
  await cluster.time.advance(25);
  t.is(one.node.describe().busy, 2, 'a runs a turn and b a stream');
  await cluster.time.advance(30);
  t.is(one.node.describe().busy, 1, 'a runs a turn');
  await cluster.settle(Promise.all(calls));
  t.is(one.node.describe().busy, 0);
  t.deepEqual(await cluster.settle(stream.next()), { done: false, value: { number: 1 } });
  const cut = t.throwsAsync(a.add({ amount: 5_000 }));
  await cluster.time.advance(10);
  one.membership.fence();
  await cluster.settle(cut);
  await cluster.time.advance(100);
  t.like(one.node.describe(), { busy: 0, residents: 0, standing: 'fenced' });
  t.is(one.node.describe().counts.selfFences, 1);
});

test('overload, repeats and moved answers are counted on the node where they occur', async (t) => {
  const { cluster, slow, added } = await nodes(['n1', 'n2'], { mailboxCountMax: 1 });
  const [one, two] = added;
  if (one === undefined || two === undefined) throw new Error('two nodes');
  const reference = one.node.actor(slow, 'acme', keyOf(one, slow));
  const id = { requestId: requestId('once') };
  const calls = [
    reference.add({ amount: 50 }, id),
    reference.add({ amount: 50 }, id),
    reference.add({ amount: 1 }),
  ];
  const refused = await t.throwsAsync(cluster.settle(reference.add({ amount: 1 })));
  t.regex(refused?.message ?? '', /overloaded/);
  await cluster.settle(Promise.all(calls));
  t.like(one.node.describe().counts, { shed: 1, repeats: 1, localCalls: 4, movedGiven: 0 });
  // The caller does not know yet that the owner has left; the receiver answers "moved" with the newer view.
  const key = keyOf(two, slow);
  cluster.members.publish([one.member.process], [two.member.process]);
  await cluster.time.advance(200);
  await cluster.settle(one.node.actor(slow, 'acme', key).add({ amount: 1 }));
  t.is(one.node.describe().counts.movedAnswers, 1);
  t.is(two.node.describe().counts.movedGiven, 1);
});

test('a description shows the links and each peer', async (t) => {
  const { cluster, slow, added } = await nodes(['n1', 'n2']);
  const [one, two] = added;
  if (one === undefined || two === undefined) throw new Error('two nodes');
  const call = one.node.actor(slow, 'acme', keyOf(two, slow)).add({ amount: 100 });
  await cluster.time.advance(50);
  const { links } = one.node.describe();
  t.like(links, { open: 1, inFlight: 1, served: 1 });
  t.deepEqual(links.peers, [
    { process: two.member.process, open: true, inFlight: 1, queuedBytes: 0, failures: 0 },
  ]);
  await cluster.settle(call);
});

test('any node can locate an actor, and its owner shows its epoch', async (t) => {
  const { cluster, counter, added } = await nodes(['n1', 'n2']);
  const [one, two] = added;
  if (one === undefined || two === undefined) throw new Error('two nodes');
  const key = keyOf(two, counter);
  await cluster.settle(one.node.actor(counter, 'acme', key).add({ amount: 1 }));
  const slot = one.node.slotOf(counter, 'acme', key);
  const owner = two.member.process;
  t.deepEqual(one.node.locate(counter, 'acme', key), { slot, owner, resident: undefined });
  const { resident } = two.node.locate(counter, 'acme', key);
  t.like(resident, { state: 'ready', busy: false, waiting: 0 });
  t.is(Number(resident?.epoch), 1);
});

test('describeCluster returns the description of each member, or an error for one that does not answer', async (t) => {
  const { cluster, slow, added } = await nodes(['n1', 'n2', 'n3']);
  const [one, two, three] = added;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  await cluster.settle(one.node.actor(slow, 'acme', keyOf(two, slow)).add({ amount: 1 }));
  three.host.freeze();
  const { view, nodes: answers } = await cluster.settle(one.node.describeCluster(500));
  t.is(view.number, one.node.describe().view.number);
  const shown = answers.map((node) =>
    'description' in node
      ? { process: node.process, slow: node.description.actors['test.Slow'] }
      : { process: node.process, error: node.error.tag },
  );
  t.deepEqual(shown, [
    { process: one.member.process, slow: 0 },
    { process: two.member.process, slow: 1 },
    { process: three.member.process, error: 'deadline_exceeded' },
  ]);
});

test('a description has the last changes of the ring: who joined, who left, and how many slots moved', async (t) => {
  const { cluster, slow, one, added } = await nodes(['n1', 'n2']);
  const third = await cluster.add(cluster.host('n3'), [slow]);
  await cluster.join();
  cluster.members.publish([one.member.process, third.member.process]);
  await cluster.time.advance(200);
  const changes = one.node.describe().ringChanges ?? [];
  const [grown, shrunk] = changes.slice(-2);
  t.like(grown, { members: 3, joined: [third.member.process], left: [] });
  t.like(shrunk, {
    members: 2,
    joined: [],
    left: [{ process: added[1]?.member.process, because: 'unknown' }],
  });
  // A third of the slots each, within what rendezvous hashing scatters.
  for (const change of [grown, shrunk]) t.true(Math.abs((change?.moved ?? 0) - 262_144 / 3) < 4_000);
  t.false(
    (third.node.describe().ringChanges ?? []).some(({ joined }) => joined.includes(third.member.process)),
    'the first ring of a node that joins is no change',
  );
});

test('a node asks another to leave, which its program decides; a program that cannot end refuses', async (t) => {
  const cluster = new SimulatedCluster();
  const slow = slowKind(cluster);
  let asked = 0;
  const one = await cluster.add(cluster.host('n1'), [slow]);
  const two = await cluster.add(cluster.host('n2'), [slow], { onLeaveAsked: () => (asked += 1) });
  await cluster.join();
  await cluster.settle(one.node.askToLeave(two.member.process));
  t.is(asked, 1);
  await cluster.settle(two.node.askToLeave(two.member.process));
  t.is(asked, 2, 'itself');
  const refused = await t.throwsAsync(cluster.settle(two.node.askToLeave(one.member.process)));
  t.like(refused, { tag: 'unknown_method' });
  const unknown = await t.throwsAsync(one.node.askToLeave(processId('nobody')));
  t.like(unknown, { tag: 'peer_lost' });
});

test('measures are finite numbers, each name has one type, and each series occurs once', async (t) => {
  const { cluster, slow, one } = await nodes(['n1', 'n2']);
  await cluster.settle(one.node.actor(slow, 'acme', 'k').add({ amount: 3 }));
  const measures = measuresOf(one.node.describe());
  const types = new Map<string, string>();
  const series = new Set<string>();
  for (const measure of measures) {
    t.is(types.get(measure.name) ?? measure.type, measure.type, measure.name);
    types.set(measure.name, measure.type);
    const name = `${measure.name} ${JSON.stringify(measure.labels)}`;
    t.false(series.has(name), name);
    series.add(name);
    const values =
      measure.type === 'histogram'
        ? [measure.reading.sumMs, measure.reading.count, ...measure.reading.buckets.map(({ count }) => count)]
        : [measure.value];
    for (const value of values) t.true(Number.isFinite(value), name);
  }
  const value = (name: string): number[] =>
    measures.flatMap((measure) => (measure.name === name && 'value' in measure ? [measure.value] : []));
  t.deepEqual(value('members'), [2]);
  t.is(
    value('slots').reduce((sum, slots) => sum + slots, 0),
    262_144,
  );
  for (const name of ['fence_rejections', 'self_fences', 'moved_answers', 'repeats', 'shed', 'turn_run_ms']) {
    t.true(types.has(name), name);
  }
});
