// Which processes may change the view, and which view is followed.

import test from 'ava';
import { viewNumber } from '../../../../cluster/ids/ids.js';
import { makeView } from '../../../../cluster/membership/view.js';
import { MemberWorld } from '../../../support/servers/member-world.js';

test('a leaving process does not change the view, even if no other can', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  if (one === undefined || two === undefined) throw new Error('two nodes');
  one.reachesNumbers = false;
  const leaving = two.membership.beginLeave();
  await world.time.advance(3_000);
  t.is(one.viewNames(), 'p0 p1');
  one.reachesNumbers = true;
  await world.time.until(() => one.viewNames() === 'p0', 2_000);
  await world.finish(leaving);
});

test('a process whose last renewal was too long ago when its number comes does not publish its view', async (t) => {
  const world = new MemberWorld();
  const [one] = await world.settled(3);
  if (one === undefined) throw new Error('three nodes');
  const { membership } = one;
  await world.time.until(() => membership.leaseAgeMs() < 20, 2_000, 5);
  // It still reads the members, so that it sees the others renew.
  one.canRenew = false;
  await world.time.until(() => membership.leaseAgeMs() > 1_300, 2_000, 5);
  const joining = world.add('p3');
  // No other can make the view, nor the new one itself, which gives up later than this test ends.
  for (const node of world.nodes) node.reachesNumbers = node === one;
  joining.start().catch(() => undefined);
  one.numbersLateMs = 600;
  await world.time.advance(1_200);
  t.is(membership.standing(), 'member');
  t.is((await world.store.client().snapshot()).view?.members.length, 3);
});

test('a process that is bound by a promise changes no view while its peer may go on', async (t) => {
  const world = new MemberWorld();
  const [bound, confirmed, other] = await world.settled(3);
  if (bound === undefined || confirmed === undefined || other === undefined) throw new Error('three nodes');
  bound.reachesStore = false;
  confirmed.reachesStore = false;
  await world.time.until(() => confirmed.membership.standing() === 'confirmed_by_peers', 5_000);
  confirmed.freeze();
  bound.reachesStore = true;
  const joining = world.add('p3');
  const started = joining.start();
  await world.time.advance(3_000);
  t.is(bound.viewNames(), 'p0 p1 p2');
  t.is(other.viewNames(), 'p0 p1 p2');
  await world.time.until(() => bound.viewNames().includes('p3'), 10_000);
  await world.finish(started);
});

test('a member of the view does not count as gone, however silent it is', async (t) => {
  const world = new MemberWorld();
  const [one, two, silent] = await world.settled(3);
  if (one === undefined || two === undefined || silent === undefined) throw new Error('three nodes');
  // Without view numbers no view can exclude it.
  for (const node of world.nodes) node.reachesNumbers = false;
  silent.freeze();
  await world.time.advance(8_000);
  t.is(one.viewNames(), 'p0 p1 p2');
  t.false(one.membership.surelyGone(silent.member.process));
  for (const node of world.nodes) node.reachesNumbers = true;
  await world.time.until(() => one.membership.surelyGone(silent.member.process), 10_000);
});

test('a view whose publication is confirmed late does not replace a newer one', async (t) => {
  const world = new MemberWorld();
  const [one, leaving] = await world.settled(2);
  if (one === undefined || leaving === undefined) throw new Error('two nodes');
  const numbers: number[] = [];
  one.membership.onView(({ number }) => numbers.push(number));
  one.answersLateMs = 200;
  const left = leaving.membership.beginLeave();
  await world.time.until(() => leaving.viewNames() === 'p0', 3_000, 1);
  one.answersLateMs = 0;
  const store = world.store.client();
  const { generation, view: follows } = await store.snapshot();
  if (follows === undefined) throw new Error('it was published');
  const newer = makeView(viewNumber(follows.number + 5), follows.members);
  t.true(await store.publish(newer, { generation, follows }));
  await world.time.advance(1_000);
  await world.finish(left);
  t.deepEqual(numbers, [newer.number]);
});
