// Leases count only in the newest generation of the member store (decision 0110).

import test from 'ava';
import { emptyView, makeView } from '../../../../cluster/membership/view.js';
import { MemberWorld, standings } from '../../../support/servers/member-world.js';

test('a process at the old master stops before the others are certain of it', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.promoteReplica([two, three]);
  let certainMs: number | undefined;
  for (let ms = 0; ms < 15_000; ms += 20) {
    await world.time.advance(20);
    if (two.membership.surelyGone(one.member.process)) certainMs ??= world.time.monotonicMs();
  }
  t.deepEqual(standings([one, two, three]), ['fenced', 'member', 'member']);
  t.true((certainMs ?? 0) > (one.fencedAtMs ?? Number.POSITIVE_INFINITY));
  t.is(three.viewNames(), 'p1 p2');
});

test('all processes follow a promoted replica without a change of view', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(3);
  const before = nodes.map((node) => node.membership.view().number);
  world.promoteReplica(nodes);
  await world.time.advance(20_000);
  t.deepEqual(standings(nodes), ['member', 'member', 'member']);
  t.deepEqual(
    nodes.map((node) => node.membership.view().number),
    before,
  );
});

test('while the durable store does not answer, renewals count as long as most workers renew in the same store', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(3);
  const [one, two, three] = nodes;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  for (const node of nodes) node.reachesNumbers = false;
  await world.time.advance(20_000);
  t.deepEqual(standings(nodes), ['member', 'member', 'member']);
  two.reachesNumbers = true;
  three.reachesNumbers = true;
  world.promoteReplica([two, three]);
  await world.time.advance(6_000);
  t.is(one.membership.standing(), 'fenced');
  t.deepEqual(standings([two, three]), ['member', 'member']);
});

test('after one process was led to a wrong store, new processes can use the former one again under a new mark', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.promoteReplica([three]);
  await world.time.advance(6_000);
  t.deepEqual(standings([one, two, three]), ['fenced', 'fenced', 'member']);
  three.kill();
  const fresh = [world.add('p3'), world.add('p4')];
  const started = Promise.all(fresh.map((node) => node.start()));
  await world.time.until(() => fresh.every((node) => node.viewNames() === 'p3 p4'), 40_000);
  await world.finish(started);
  t.deepEqual(standings(fresh), ['member', 'member']);
});

test('two views with one number are both void: the same members get a higher number', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(3);
  const { number, members } = nodes[0]?.membership.view() ?? emptyView;
  world.store.flush();
  const client = world.store.client();
  const { generation } = await client.snapshot();
  t.true(await client.publish(makeView(number, members.slice(0, 2)), { generation, follows: undefined }));
  await world.time.until(() => nodes.every(({ membership }) => membership.view().number > number), 8_000);
  await world.time.advance(2_000);
  t.is(new Set(nodes.map(({ membership }) => membership.view().hash)).size, 1);
  t.deepEqual(standings(nodes), ['member', 'member', 'member']);
  t.true(nodes.some(({ events }) => events.some(({ event }) => event === 'void_view')));
});
