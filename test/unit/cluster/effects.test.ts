import test from 'ava';
import type { Call } from '../../../cluster/activation/call.js';
import { type Activation, volatileActor } from '../../../cluster/activation/kind.js';
import { clusterConfig } from '../../../cluster/config.js';
import { processId } from '../../../cluster/ids/ids.js';
import { FrameWriter } from '../../../cluster/links/frame-writer.js';
import type { Frame } from '../../../cluster/links/pipe.js';
import { Departures } from '../../../cluster/membership/departures.js';
import { ScriptedMembers } from '../../../cluster/simulation/scripted-membership.js';
import { sleep } from '../../../cluster/time/time.js';
import { VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { recordedPipe } from '../../support/builders/recorded-pipe.js';
import { SimulatedCluster } from '../../support/servers/simulated-cluster.js';

function memberOf(name: string) {
  return {
    process: processId(name),
    address: name,
    weight: 1,
    roles: ['worker' as const],
    host: name,
    pid: 1,
  };
}

/** A cluster whose only actor hands its activation out. */
async function activated() {
  const cluster = new SimulatedCluster();
  const activations: Activation[] = [];
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: (activation) => {
      activations.push(activation);
      return {
        add: ({ amount }: { amount: number }) => ({ sum: amount }),
        read: () => ({ sum: 0 }),
        where: () => ({ process: '' }),
        async *count() {},
      };
    },
  });
  const one = await cluster.add(cluster.host('n1'), [kind]);
  const two = await cluster.add(cluster.host('n2'), [kind]);
  await cluster.join();
  // Moves every actor to the first node, and leaves the second in doubt.
  cluster.members.publish([one.member.process]);
  await cluster.time.advance(200);
  await cluster.settle(one.node.actor(kind, 'acme', 'a').add({ amount: 1 }));
  const [activation] = activations;
  if (activation === undefined) throw new Error('the actor was not loaded');
  return { cluster, one, two, kind, activation };
}

test('an actor may act while its process may and its activation has not ended', async (t) => {
  const { one, activation } = await activated();
  t.true(activation.mayAct());
  const { membership } = one;
  const mayAct = membership.mayAct.bind(membership);
  membership.mayAct = () => false;
  t.false(activation.mayAct(), 'the lease has run out');
  membership.mayAct = mayAct;
  activation.end('idle');
  t.false(activation.mayAct(), 'the activation has ended');
});

test('a process that loses its lease aborts its running calls and fails them at once', async (t) => {
  const cluster = new SimulatedCluster();
  let isAborted = false;
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async ({ amount }: { amount: number }, { signal }: Call) => {
        signal.addEventListener('abort', () => (isAborted = true));
        await sleep(cluster.time, 20_000);
        return { sum: amount };
      },
      read: () => ({ sum: 0 }),
      where: () => ({ process: '' }),
      async *count() {},
    }),
  });
  const { node, membership } = await cluster.add(cluster.host('n1'), [kind]);
  await cluster.join();
  const call = t.throwsAsync(node.actor(kind, 'acme', 'a').add({ amount: 1 }));
  await cluster.time.advance(100);
  membership.fence();
  await cluster.settle(call, 1_000);
  t.true(isAborted);
});

test('an owner that may not admit work takes no new call, its own or of another process', async (t) => {
  const { cluster, one, two, kind } = await activated();
  const { membership } = one;
  const mayAdmit = membership.mayAdmit.bind(membership);
  membership.mayAdmit = () => false;
  for (const { node } of [one, two]) {
    const call = node.actor(kind, 'acme', 'a').add({ amount: 1 }, { deadlineMs: 400 });
    await cluster.settle(t.throwsAsync(call, { message: /deadline_exceeded/ }), 2_000);
  }
  membership.mayAdmit = mayAdmit;
  for (const { node } of [one, two]) {
    t.is((await cluster.settle(node.actor(kind, 'acme', 'a').add({ amount: 1 }))).sum, 1);
  }
});

test('the effects of an actor wait for a process that left the view and is not surely gone', async (t) => {
  const { cluster, two, activation } = await activated();
  let isClear = false;
  const clear = activation.effectsClear(new AbortController().signal).then(() => (isClear = true));
  await cluster.time.advance(5_000);
  t.false(isClear);
  cluster.members.declareGone(two.member.process);
  await cluster.settle(clear);
  t.true(isClear);
});

/** An actor of which each call ends when the test says so. */
async function held() {
  const cluster = new SimulatedCluster();
  const activations: Activation[] = [];
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: (activation) => {
      activations.push(activation);
      return {
        add: async ({ amount }: { amount: number }) => {
          await ended;
          return { sum: amount };
        },
        read: () => ({ sum: 0 }),
        where: () => ({ process: '' }),
        async *count() {},
      };
    },
  });
  const one = await cluster.add(cluster.host('n1'), [kind]);
  const two = await cluster.add(cluster.host('n2'), [kind]);
  await cluster.join();
  const key = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].find(
    (name) => one.node.locate(kind, 'acme', name).owner === two.member.process,
  );
  if (key === undefined) throw new Error('the second node owns none of the keys');
  return { cluster, one, two, kind, key, activations, end };
}

test('the effects of an actor wait for a process that leaves in order until the actor has ended there', async (t) => {
  const { cluster, one, two, kind, key, activations, end } = await held();
  const running = one.node.actor(kind, 'acme', key).add({ amount: 1 });
  await cluster.time.advance(200);
  await cluster.settle(two.node.beginLeave());
  await cluster.time.advance(200);
  await cluster.settle(one.node.actor(kind, 'acme', key).read({}));
  const [, successor] = activations;
  if (successor === undefined) throw new Error('the actor was not loaded again');
  const { signal } = new AbortController();
  let isClear = false;
  const clear = successor.effectsClear(signal).then(() => (isClear = true));
  await cluster.time.advance(5_000);
  t.false(isClear, 'its turn still runs there');
  const left = new AbortController();
  const given = t.throwsAsync(successor.effectsClear(left.signal));
  left.abort(new Error('the turn was cancelled'));
  await cluster.settle(given);
  end();
  await cluster.settle(clear, 1_000);
  t.is((await cluster.settle(running)).sum, 1);
  t.false(one.membership.surelyGone(two.member.process), 'the process goes on');
  await cluster.settle(successor.effectsClear(signal), 1_000);
});

test('every process that left any view is waited for, and none twice', async (t) => {
  const members = new ScriptedMembers();
  const self = members.join(memberOf('self'));
  for (const name of ['a', 'b', 'c']) members.join(memberOf(name));
  const departures = new Departures(self);
  const released = (): Promise<never> => Promise.reject(new Error('none leaves in order'));
  for (const names of [
    ['self', 'a', 'b', 'c'],
    ['self', 'b', 'c'],
    ['self', 'c'],
  ]) {
    departures.follow(members.publish(names.map(processId)));
  }
  let isClear = false;
  const clear = departures.clear(released, new AbortController().signal).then(() => (isClear = true));
  members.declareGone(processId('a'));
  await new Promise(setImmediate);
  t.false(isClear);
  members.declareGone(processId('b'));
  await clear;
  await departures.clear(released, new AbortController().signal);
  t.true(isClear);
});

test('no frame leaves a process that may not act, and its link is told', async (t) => {
  const time = new VirtualTime();
  const { pipe, sent } = recordedPipe();
  let acts = true;
  let lapses = 0;
  const writer = new FrameWriter(
    pipe,
    time,
    clusterConfig(),
    () => acts,
    () => (lapses += 1),
  );
  const ping: Frame = { frame: { $case: 'ping', value: {} } };
  writer.send(0, ping);
  await time.advance(1);
  t.is(sent.length, 1);
  writer.send(0, ping);
  // The lease runs out between the call and the end of the turn of the event loop.
  acts = false;
  await time.advance(1);
  t.is(sent.length, 1);
  t.is(lapses, 1);
});
