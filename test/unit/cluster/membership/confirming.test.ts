import test from 'ava';
import { viewNumber } from '../../../../cluster/ids/ids.js';
import { makeView } from '../../../../cluster/membership/view.js';
import { type MemberNode, MemberWorld } from '../../../support/servers/member-world.js';

/** Whether the process confirms the other, that asks with the view that it holds or with the given one. */
async function confirms(node: MemberNode, asking: MemberNode, view = asking.membership.view()) {
  const request = { from: asking.member.process, view, confirm: true, exited: undefined };
  const reply = await node.handler?.(request);
  if (reply === undefined) throw new Error('a started process answers probes');
  return reply.confirmed;
}

async function three(world: MemberWorld): Promise<[MemberNode, MemberNode, MemberNode]> {
  const [one, two, last] = await world.settled(3);
  if (one === undefined || two === undefined || last === undefined) throw new Error('three nodes');
  return [one, two, last];
}

test('a process confirms a peer only while it cannot reach the member store itself', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await three(world);
  t.false(await confirms(two, one));
  world.storeUp = false;
  await world.time.advance(2_500);
  t.true(await confirms(two, one));
  world.storeUp = true;
  await world.time.advance(2_000);
  t.false(await confirms(two, one));
});

test('a process confirms only a peer that holds its own view', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await three(world);
  world.storeUp = false;
  await world.time.advance(2_500);
  const { number, members } = one.membership.view();
  const newer = makeView(viewNumber(number + 1), members);
  const other = makeView(number, members.slice(0, 2));
  t.false(await confirms(two, one, newer));
  t.false(await confirms(two, one, other), 'the number is the same, the members are not');
  t.true(await confirms(two, one));
});

test('a process that continues after its right to act has run out confirms nobody', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await three(world);
  two.freeze();
  world.storeUp = false;
  await world.time.advance(5_000);
  // It handles the question before any of its timers.
  t.false(await confirms(two, one));
});

test('a process that has left the view, and one that joins, confirm nobody', async (t) => {
  const world = new MemberWorld();
  const [one, two, leaving] = await three(world);
  const left = leaving.membership.beginLeave();
  await world.time.until(() => two.viewNames() === 'p0 p1' && leaving.viewNames() === 'p0 p1', 3_000);
  await world.finish(left);
  world.storeUp = false;
  await world.time.advance(2_500);
  t.true(leaving.membership.mayAct());
  t.false(await confirms(leaving, one));
  t.true(await confirms(two, one));
});

test('a confirmation binds its giver until it expires, and its renewals and its departure say so', async (t) => {
  const world = new MemberWorld();
  const [one, two, other] = await three(world);
  world.storeUp = false;
  await world.time.advance(2_500);
  t.true(await confirms(two, one));
  world.storeUp = true;
  await world.time.advance(1_500);
  const promisedMs = (): number => {
    const leases = world.store.copyOfLeases();
    return leases.find(({ member }) => member.process === two.member.process)?.promisedMs ?? -1;
  };
  t.true(promisedMs() > 2_000, `${promisedMs()} ms`);
  const leaving = two.membership.leave();
  await world.time.advance(100);
  await world.finish(leaving);
  const departed = world.store.departures().find(({ process }) => process === two.member.process);
  t.true((departed?.promisedMs ?? 0) > 1_000);
  t.is(other.membership.standing(), 'member');
});

test('a renewal that was sent while its process may promise does not call it free', async (t) => {
  const world = new MemberWorld();
  await world.settled(1);
  const lease = () => world.store.copyOfLeases()[0] ?? { renewals: -1, promisedMs: -1 };
  t.is(lease().promisedMs, 0);
  world.storeUp = false;
  await world.time.advance(2_500);
  const { renewals } = lease();
  world.storeUp = true;
  await world.time.until(() => lease().renewals > renewals, 2_000, 1);
  t.true(lease().promisedMs > 0, 'it could still promise while this was on its way');
  await world.time.until(() => lease().promisedMs === 0, 2_000);
});

test('a process adopts no view without one that it has confirmed until its promise has expired', async (t) => {
  const world = new MemberWorld();
  const [one, two, other] = await world.settled(5);
  if (one === undefined || two === undefined || other === undefined) throw new Error('five nodes');
  // Two of five cannot go on without the store, and do not keep the others from changing the view.
  one.reachesStore = false;
  two.reachesStore = false;
  await world.time.advance(2_400);
  t.true(await confirms(two, one));
  const promisedAtMs = world.time.monotonicMs();
  one.reachesStore = true;
  two.reachesStore = true;
  await world.time.advance(1_000);
  t.is(one.membership.standing(), 'member');
  const leaving = one.membership.beginLeave();
  await world.time.until(() => other.viewNames() === 'p1 p2 p3 p4', 3_000);
  await world.time.advance(600);
  t.is(two.viewNames(), 'p0 p1 p2 p3 p4');
  await world.time.until(() => two.viewNames() === 'p1 p2 p3 p4', 8_000);
  t.true(world.time.monotonicMs() - promisedAtMs >= world.config.leaseMs);
  await world.finish(leaving);
});

test('the right to act counts from the start of a renewal, not from its answer', async (t) => {
  const world = new MemberWorld();
  const [one] = await three(world);
  one.stepsLateMs = 600;
  await world.time.advance(3_000);
  let youngestMs = Number.POSITIVE_INFINITY;
  for (let step = 0; step < 200; step += 1) {
    await world.time.advance(10);
    youngestMs = Math.min(youngestMs, one.membership.leaseAgeMs());
  }
  t.true(youngestMs >= 600, `${youngestMs} ms`);
});

test('a confirmed right to act counts from the start of the question, not from its answer', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  if (one === undefined || two === undefined) throw new Error('two nodes');
  const confirmed = (): number => one.events.filter(({ event }) => event === 'confirmed').length;
  world.storeUp = false;
  await world.time.until(() => confirmed() > 2, 10_000);
  const before = confirmed();
  await world.time.until(() => confirmed() > before, 3_000, 1);
  // It asks again a renewal's period later, up to a quarter more; the answer comes 400 to 150 ms after that.
  await world.time.advance(900);
  two.freeze();
  await world.time.advance(500);
  const asked = confirmed();
  two.thaw();
  await world.time.advance(5);
  t.is(confirmed(), asked + 1);
  t.true(one.membership.leaseAgeMs() >= 100, `${one.membership.leaseAgeMs()} ms`);
});

test('a confirmation that comes after the right to act has run out does not bring it back', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  if (one === undefined || two === undefined) throw new Error('two nodes');
  const { leaseActMs } = world.config;
  const answer = two.handler;
  const held: (() => void)[] = [];
  two.handler = async (request) => {
    const reply = await answer?.(request);
    if (reply === undefined) throw new Error('a started process answers probes');
    if (one.membership.leaseAgeMs() < leaseActMs - 300) return { ...reply, confirmed: false };
    await new Promise<void>((resolve) => held.push(resolve));
    return reply;
  };
  await world.time.until(() => one.membership.leaseAgeMs() < 20, 2_000, 5);
  world.storeUp = false;
  // Its timers then run at other times than its lease, so that none notices the end of the lease first.
  one.freeze();
  await world.time.advance(380);
  one.thaw();
  await world.time.until(() => one.membership.leaseAgeMs() > leaseActMs, 5_000, 5);
  t.is(one.fencedAtMs, undefined);
  t.true(held.length > 0, 'a confirmation is on its way');
  for (const release of held) release();
  await world.time.advance(5);
  t.is(one.membership.standing(), 'fenced');
});

test('a confirmation for an older view does not count in a newer one', async (t) => {
  const world = new MemberWorld();
  const [one, two, last] = await three(world);
  const before = one.membership.view();
  world.storeUp = false;
  await world.time.until(() => one.membership.standing() === 'confirmed_by_peers', 5_000);
  const held: (() => void)[] = [];
  for (const peer of [two, last]) {
    peer.reachesStore = false;
    const answer = peer.handler;
    peer.handler = async (request) => {
      const reply = await answer?.(request);
      if (reply === undefined) throw new Error('a started process answers probes');
      await new Promise<void>((resolve) => held.push(resolve));
      return reply;
    };
  }
  const store = world.store.client();
  const { generation } = await store.snapshot();
  const newer = makeView(viewNumber(before.number + 1), before.members);
  t.true(await store.publish(newer, { generation, follows: before }));
  await world.time.until(() => held.length > 0, 2_000, 5);
  one.stepsLateMs = 100;
  world.storeUp = true;
  await world.time.until(() => one.membership.view().number === newer.number, 5_000, 5);
  const known = one.events.length;
  for (const release of held) release();
  await world.time.advance(20);
  t.true(held.length > 0, 'a confirmation was on its way');
  t.false(one.events.slice(known).some(({ event }) => event === 'confirmed' || event === 'not_confirmed'));
});

test('a process whose lease others removed stops at its next renewal, even if no view can be made without it', async (t) => {
  const world = new MemberWorld();
  const [one, two, removed] = await three(world);
  for (const node of world.nodes) node.reachesNumbers = false;
  t.is(two.membership.standing(), 'member');
  world.store.takeAway(removed.member.process);
  await world.time.advance(1_500);
  t.is(removed.membership.standing(), 'fenced');
  t.is(one.viewNames(), 'p0 p1 p2');
});

test('a process that a view excludes stops, even if a failover brings its lease back', async (t) => {
  const world = new MemberWorld();
  const [one, two, excluded] = await three(world);
  excluded.freeze();
  const failOver = world.store.copy();
  await world.time.advance(600);
  one.membership.reportRefused(excluded.member.process);
  two.membership.reportRefused(excluded.member.process);
  await world.time.until(() => one.viewNames() === 'p0 p1' && two.viewNames() === 'p0 p1', 3_000);
  failOver();
  await world.time.advance(300);
  excluded.thaw();
  t.true(excluded.membership.mayAct(), 'it was frozen for less than its right to act');
  await world.time.advance(2_500);
  t.is(excluded.membership.standing(), 'fenced');
  t.is(one.viewNames(), 'p0 p1');
});
