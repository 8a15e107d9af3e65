// Credit that the reader of a resumed stream returns before its next source has begun.

import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { ClusterError } from '../../../cluster/errors.js';
import { actorKind, viewNumber } from '../../../cluster/ids/ids.js';
import type { Greeted } from '../../../cluster/links/handshake.js';
import { PeerLink } from '../../../cluster/links/peer-link.js';
import { processQuestion } from '../../../cluster/links/process-question.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { member } from '../../contracts/member-store.js';
import { recordedPipe } from '../../support/builders/recorded-pipe.js';
import { MovingCluster } from '../../support/servers/moving-cluster.js';
import type { SimulatedNode } from '../../support/servers/simulated-cluster.js';

const to = 1_000;

/** A reader whose window is full, and whose owner has died. The actor loads for 500 ms at the next owner. */
async function resumed(readsAt: (next: SimulatedNode, edge: SimulatedNode) => SimulatedNode) {
  const cluster = new MovingCluster({ callCreditBytes: 4_096, chunkBytes: 4_096 });
  const owner = await cluster.addNode('n1');
  const next = await cluster.addNode('n2');
  const edge = await cluster.addNode('n3');
  cluster.members.publish([owner.member.process]);
  await cluster.time.advance(200);
  const stream = cluster.counter(readsAt(next, edge), 'k').count({ after: 0, to, pauseMs: 0 });
  await cluster.time.advance(200);
  const full = stream.buffered;
  cluster.storeMs = 500;
  owner.host.kill();
  cluster.members.publish([next.member.process]);
  await cluster.time.advance(100);
  return { cluster, stream, full };
}

for (const [where, readsAt] of [
  ['in the process of the next owner', (next: SimulatedNode) => next],
  ['in another process', (_: SimulatedNode, edge: SimulatedNode) => edge],
] as const) {
  test(`a slow reader ${where} that catches up while its actor loads at the next owner gets the rest`, async (t) => {
    const { cluster, stream, full } = await resumed(readsAt);
    const numbers: number[] = [];
    // The clock stands still.
    for (let index = 0; index < full; index += 1) {
      const { value } = await stream.next();
      if (value !== undefined) numbers.push(value.number);
    }
    t.is(stream.buffered, 0, 'the next source has not begun');
    t.true(full > 50 && full < to);
    const rest = async (): Promise<void> => {
      for await (const { number } of stream) numbers.push(number);
    };
    await cluster.settle(rest(), 30_000);
    t.deepEqual(
      numbers,
      Array.from({ length: to }, (_, index) => index + 1),
    );
  });
}

test('a call that waits for its link is sent with the credit that was granted meanwhile', async (t) => {
  const time = new VirtualTime();
  const { pipe, sent } = recordedPipe();
  const greeted: Greeted = { pipe, peer: 'p2', protocol: 1, attach() {} };
  let open: (greeted: Greeted) => void = () => undefined;
  const host = {
    mayAct: () => true,
    view: () => ({ number: viewNumber(1), hash: 'h' }),
    heardOfView() {},
    refused() {},
  };
  const opens = () => new Promise<Greeted>((resolve) => (open = resolve));
  const link = new PeerLink(member('p2'), clusterConfig(), time, new SeededRandom(1), host, opens, () =>
    t.fail('nothing is shed'),
  );
  t.teardown(() => link.close(new ClusterError('cancelled', 'the test ends')));
  const answer = { reply() {}, fail() {} };
  const question = processQuestion({
    mode: 'release',
    kind: actorKind('test.Kind'),
    deadlineMs: 60_000,
    answer,
  });
  const call = link.call({ ...question, credit: 5 });
  call.grant(100);
  call.grant(20);
  open(greeted);
  await time.advance(100);
  call.grant(3);
  await time.advance(100);
  t.deepEqual(
    sent.flatMap(({ frame }) => {
      if (frame?.$case === 'call') return [frame.value.credit];
      return frame?.$case === 'credit' ? [frame.value.amount] : [];
    }),
    [125, 3],
  );
});
