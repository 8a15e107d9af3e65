import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { whenLeaseLost } from '../../../cluster/node/lost-lease.js';
import { ClusterNode } from '../../../cluster/node/node.js';
import { buildRing } from '../../../cluster/ring/ring.js';
import { SimulatedHost } from '../../../cluster/simulation/host.js';
import { SimulatedNetwork } from '../../../cluster/simulation/network.js';
import { ScriptedMembers } from '../../../cluster/simulation/scripted-membership.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { member } from '../../contracts/member-store.js';

/** A node that is a member and waits for its ring, which is built once `build` is called. */
async function startingNode() {
  const time = new VirtualTime();
  const random = new SeededRandom(1);
  const members = new ScriptedMembers();
  const membership = members.join(member('p1'));
  let build = (): void => undefined;
  const node = new ClusterNode({
    kinds: [volatileCounter(time)],
    membership,
    transport: new SimulatedNetwork(time, random).transport(new SimulatedHost(time, 'p1')),
    link: { cluster: 'test', secret: 'secret' },
    config: clusterConfig(),
    time,
    random,
    buildRing: (view, previous) =>
      new Promise((resolve) => {
        build = () => resolve(buildRing(view, previous));
      }),
  });
  await node.listen();
  members.publish([membership.self.process]);
  const started = node.start(new AbortController().signal);
  await time.advance(10);
  const told: string[] = [];
  const begun = async (): Promise<void> => {
    build();
    await started;
    whenLeaseLost(membership, () => told.push(membership.standing()));
  };
  return { time, membership, begun, told };
}

test('a lease that is lost while the node starts is told once the node has started', async (t) => {
  const { time, membership, begun, told } = await startingNode();
  membership.fence();
  await begun();
  await time.advance(10);
  t.deepEqual(told, ['left'], 'the lease is released first');
});

test('a lease that is lost later is told once', async (t) => {
  const { time, membership, begun, told } = await startingNode();
  await begun();
  await time.advance(10);
  t.deepEqual(told, []);
  membership.fence();
  await time.advance(10);
  t.deepEqual(told, ['left']);
});
