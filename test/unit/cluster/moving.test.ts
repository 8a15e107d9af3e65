import test from 'ava';
import { deactivated, durableActor } from '../../../cluster/activation/kind.js';
import { ClusterError } from '../../../cluster/errors.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { addressText } from '../../../cluster/ids/ids.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { moving, MovingCluster } from '../../support/servers/moving-cluster.js';
import { SimulatedCluster, type SimulatedNode } from '../../support/servers/simulated-cluster.js';

test('a durable sum is kept when its idle actor moves', async (t) => {
  const { cluster, one, two } = await moving();
  for (let key = 0; key < 10; key += 1)
    await cluster.settle(cluster.counter(one, `c${key}`).add({ amount: 5 }));
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  t.is(one.node.describe().residents, 0);
  for (let key = 0; key < 10; key += 1) {
    t.is((await cluster.settle(cluster.counter(one, `c${key}`).add({ amount: 1 }))).sum, 6);
  }
});

test('an actor whose slot moves during its load is not activated on the old owner', async (t) => {
  const { cluster, one, two, key } = await moving();
  cluster.storeMs = 500;
  const asked = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  t.is((await cluster.settle(asked)).sum, 1);
  await cluster.time.advance(2_000);
  t.deepEqual(cluster.made, ['n2']);
  t.is(one.node.describe().residents, 0);
});

test('an actor that is given up while it loads is told its end and takes no call', async (t) => {
  const cluster = new MovingCluster();
  const log: string[] = [];
  const kind = durableActor({
    service: CounterServiceDefinition,
    name: 'test.Loading',
    commits: new GroupCommit(cluster.store, cluster.config, cluster.time, cluster.random),
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => {
      log.push('created');
      if (log.length === 1) activation.end('moved');
      return {
        add: ({ amount }: { amount: number }) => ({ sum: amount }),
        read: () => ({ sum: 0 }),
        where: () => ({ process: '' }),
        async *count() {},
        [deactivated]: () => void log.push('ended'),
      };
    },
  });
  const { node } = await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  t.is((await cluster.settle(node.actor(kind, 'acme', 'k').add({ amount: 3 }))).sum, 3);
  t.deepEqual(log, ['created', 'ended', 'created']);
});

test('a turn that runs while its slot moves ends on the old owner before the new owner starts', async (t) => {
  const { cluster, one, two, key } = await moving();
  const first = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  const second = cluster.slow(two, key).add({ amount: 2 });
  await cluster.settle(Promise.all([first, second]));
  t.deepEqual(cluster.log, ['begin 1 at n1', 'end 1 at n1', 'begin 2 at n2', 'end 2 at n2']);
  t.is(two.node.describe().counts.fenceRejections + one.node.describe().counts.fenceRejections, 0);
});

test('actors load while others wait for turns that end on the old owner', async (t) => {
  const { cluster, one, two, key } = await moving({ activationsMax: 1 });
  const first = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  const second = cluster.slow(two, key).add({ amount: 2 });
  await cluster.time.advance(100);
  const startedMs = cluster.time.monotonicMs();
  t.is((await cluster.settle(cluster.counter(two, 'another').add({ amount: 5 }), 1_000)).sum, 5);
  t.true(cluster.time.monotonicMs() - startedMs < 1_000);
  t.deepEqual(cluster.log, ['begin 1 at n1']);
  await cluster.settle(Promise.all([first, second]));
  t.deepEqual(cluster.log, ['begin 1 at n1', 'end 1 at n1', 'begin 2 at n2', 'end 2 at n2']);
});

test('the stamp of a turn that ended without its last write is not waited for', async (t) => {
  const { cluster, one, two, key } = await moving();
  const first = cluster.slow(one, key).add({ amount: -1 });
  first.catch(() => undefined);
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  const startedMs = cluster.time.monotonicMs();
  await cluster.settle(cluster.slow(two, key).add({ amount: 2 }));
  const tookMs = cluster.time.monotonicMs() - startedMs;
  t.true(tookMs < 6_000, `it waited for the deadline of the stamp: ${tookMs} ms`);
});

test('turns that wait when their slot moves run at the new owner, and the old one keeps no actor', async (t) => {
  const { cluster, one, two, key } = await moving();
  const first = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  const second = cluster.slow(one, key).add({ amount: 2 });
  await cluster.time.advance(50);
  cluster.members.publish([two.member.process]);
  await cluster.settle(Promise.all([first, second]));
  t.deepEqual(cluster.log, ['begin 1 at n1', 'end 1 at n1', 'begin 2 at n2', 'end 2 at n2']);
  t.is(one.node.describe().residents, 0);
});

test('the new owner forwards control calls to the running turn', async (t) => {
  const { cluster, one, two, key } = await moving();
  const first = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  t.is((await cluster.settle(cluster.slow(two, key).where({}), 1_000)).process, 'n1');
  await cluster.settle(first);
});

test('a control call that waits at a vanished process is answered as soon as that is surely gone', async (t) => {
  const { cluster, one, two, key } = await moving();
  const lost = cluster.slow(two, key).add({ amount: 1 });
  lost.catch(() => undefined);
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  // Its connections stay open and silent.
  cluster.network.vanish(one.host.name);
  const asked = cluster.slow(two, key).where({});
  await cluster.time.advance(200);
  cluster.members.declareGone(one.member.process);
  t.is((await cluster.settle(asked, 1_500)).process, 'n2');
});

test('a slot that moves twice during one turn waits for that turn both times', async (t) => {
  const { cluster, one, two, key } = await moving();
  const three = await cluster.addNode('n3');
  const first = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  const second = cluster.slow(two, key).add({ amount: 2 });
  await cluster.time.advance(300);
  cluster.members.publish([three.member.process]);
  await cluster.settle(Promise.all([first, second]));
  t.deepEqual(cluster.log, ['begin 1 at n1', 'end 1 at n1', 'begin 2 at n3', 'end 2 at n3']);
});

test('the wait for a turn ends when its process is surely gone', async (t) => {
  const { cluster, one, two, key } = await moving();
  const lost = cluster.slow(two, key).add({ amount: 1 });
  lost.catch(() => undefined);
  await cluster.time.advance(100);
  one.host.kill();
  cluster.members.publish([two.member.process]);
  const second = cluster.slow(two, key).add({ amount: 2 });
  await cluster.time.advance(1_000);
  t.deepEqual(cluster.log, ['begin 1 at n1']);
  cluster.members.declareGone(one.member.process);
  await cluster.settle(second, 6_000);
  t.true(cluster.log.includes('end 2 at n2'));
});

test('the wait for a turn whose process never answers ends at the deadline of its stamp', async (t) => {
  const { cluster, one, two, key } = await moving();
  const lost = cluster.slow(two, key).add({ amount: 1 });
  lost.catch(() => undefined);
  await cluster.time.advance(100);
  one.host.kill();
  cluster.members.publish([two.member.process]);
  const startedAt = cluster.time.monotonicMs();
  await cluster.settle(cluster.slow(two, key).add({ amount: 2 }), 20_000);
  const tookMs = cluster.time.monotonicMs() - startedAt;
  t.true(tookMs > 9_000 && tookMs < 14_000, `${tookMs}`);
});

test('the stamp of a process that is known to be gone costs no second load', async (t) => {
  const { cluster, one, two, key } = await moving();
  const lost = cluster.slow(two, key).add({ amount: 1 });
  lost.catch(() => undefined);
  await cluster.time.advance(100);
  one.host.kill();
  cluster.members.declareGone(one.member.process);
  cluster.members.publish([two.member.process]);
  cluster.storeMs = 400;
  const second = cluster.slow(two, key).add({ amount: 2 });
  await cluster.time.until(() => cluster.made.includes('n2'), 1_200);
  cluster.storeMs = 1;
  t.is((await cluster.settle(second)).sum, 2);
});

test('a turn for an actor whose slot moved away and back waits for the running one', async (t) => {
  const { cluster, one, two, key } = await moving();
  const first = cluster.slow(one, key).add({ amount: 1 });
  await cluster.time.advance(100);
  cluster.members.publish([two.member.process]);
  await cluster.time.advance(100);
  cluster.members.publish([one.member.process]);
  await cluster.time.advance(100);
  const second = cluster.slow(two, key).add({ amount: 2 });
  await cluster.settle(Promise.all([first, second]));
  t.deepEqual(cluster.log, ['begin 1 at n1', 'end 1 at n1', 'begin 2 at n1', 'end 2 at n1']);
});

test('of two activations of one actor the older is fenced at its next write, and the sum stays correct', async (t) => {
  const { cluster, one, two } = await moving();
  const key = cluster.keyThatMoves(one);
  await cluster.settle(cluster.counter(one, key).add({ amount: 1 }));
  // Only the other node receives the new view, so both serve the actor for a moment.
  cluster.members.publish([two.member.process], [two.member.process]);
  await cluster.time.advance(100);
  const sums = await cluster.settle(
    Promise.all([cluster.counter(two, key).add({ amount: 1 }), cluster.counter(one, key).add({ amount: 1 })]),
  );
  t.deepEqual(new Set(sums.map(({ sum }) => sum)), new Set([2, 3]));
});

test('a call to an old owner is redirected and succeeds', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileCounter(cluster.time);
  const nodes: SimulatedNode[] = [];
  for (const name of ['n1', 'n2', 'n3']) nodes.push(await cluster.add(cluster.host(name), [kind]));
  const [one, two, three] = nodes;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  await cluster.join();
  // Node one still has the view of three members; the others know that two has left.
  const after = [one.member.process, three.member.process];
  cluster.members.publish(after, [two.member.process, three.member.process]);
  await cluster.time.advance(100);
  for (let key = 0; key < 30; key += 1) {
    const place = await cluster.settle(one.node.actor(kind, 'acme', `k${key}`).where({}), 2_000);
    t.not(place.process, 'n2');
  }
});

test('a draining node accepts no new work, finishes its turn and leaves', async (t) => {
  const { cluster, one, two, key } = await moving();
  const running = cluster.slow(two, key).add({ amount: 1 });
  await cluster.time.advance(100);
  const stopped = one.node.stop();
  const other = cluster.counter(two, 'elsewhere').add({ amount: 3 });
  t.is((await cluster.settle(other)).sum, 3);
  t.is((await cluster.settle(running)).sum, 1);
  t.deepEqual(await cluster.settle(stopped), { cutOff: 0 });
  t.true(one.membership.surelyGone(one.member.process));
});

test('calls to a killed node wait for the next view, and none is lost', async (t) => {
  const { cluster, one, two } = await moving();
  const keys = Array.from({ length: 10 }, (_, index) => `c${index}`);
  for (const key of keys) await cluster.settle(cluster.counter(two, key).add({ amount: 1 }));
  one.host.kill();
  const calls = keys.map((key) => cluster.counter(two, key).add({ amount: 1 }, { deadlineMs: 20_000 }));
  await cluster.time.advance(2_000);
  cluster.members.publish([two.member.process]);
  const sums = await cluster.settle(Promise.all(calls));
  t.deepEqual(
    sums.map(({ sum }) => sum),
    keys.map(() => 2),
  );
  t.true(two.membership.refused.includes(one.member.process));
});

test('calls that wait for an owner go on as soon as a view names one', async (t) => {
  const { cluster, one, two } = await moving();
  one.host.kill();
  const calls = Array.from({ length: 20 }, (_, index) =>
    cluster.counter(two, `c${index}`).add({ amount: 1 }),
  );
  await cluster.time.advance(3_000);
  cluster.members.publish([two.member.process]);
  const startedMs = cluster.time.monotonicMs();
  await cluster.settle(Promise.all(calls));
  const tookMs = cluster.time.monotonicMs() - startedMs;
  t.true(tookMs <= 100, `${tookMs} ms`);
});

test('an owner whose view is older than that of its caller waits for the newer one', async (t) => {
  const { cluster, one, two, key } = await moving();
  const { membership } = two;
  // It hears of the view and does not get it.
  membership.catchUp = () => new Promise<void>(() => {});
  const view = cluster.members.publish([two.member.process], [one.member.process]);
  const asked = cluster.counter(one, key).add({ amount: 1 });
  await cluster.time.advance(600);
  membership.adopt(view);
  t.is((await cluster.settle(asked)).sum, 1);
});

test('a node that loses its lease ends every actor at once, and its calls can be retried', async (t) => {
  const { cluster, one, key } = await moving();
  const running = t.throwsAsync(cluster.slow(one, key).add({ amount: 1 }, { deadlineMs: 3_000 }), {
    instanceOf: ClusterError,
  });
  await cluster.time.advance(100);
  one.membership.fence();
  t.is(one.node.describe().residents, 0);
  await cluster.time.advance(4_000);
  t.is((await running)?.tag, 'deadline_exceeded');
  t.deepEqual(cluster.log, ['begin 1 at n1']);
});

test('a stream with a resume rule continues after its last message when the owner dies', async (t) => {
  const cluster = new SimulatedCluster();
  const kind = volatileCounter(cluster.time);
  const one = await cluster.add(cluster.host('n1'), [kind]);
  const two = await cluster.add(cluster.host('n2'), [kind]);
  await cluster.join();
  let key = '';
  for (let index = 0; key === ''; index += 1) {
    if (one.node.owns(one.node.slotOf(kind, 'acme', `s${index}`))) key = `s${index}`;
  }
  const stream = two.node.actor(kind, 'acme', key).count({ after: 0, to: 100, pauseMs: 10 });
  const seen: number[] = [];
  const reading = (async () => {
    for await (const { number } of stream) seen.push(number);
  })();
  await cluster.time.advance(500);
  one.host.kill();
  await cluster.time.advance(500);
  cluster.members.publish([two.member.process]);
  await cluster.settle(reading);
  t.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => index + 1),
  );
});
