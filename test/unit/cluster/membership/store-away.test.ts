import test, { type ExecutionContext } from 'ava';
import { MemberWorld, msUntil, standings } from '../../../support/member-world.js';

const waitMs = 5_500;

async function storeAway(t: ExecutionContext, count: number, awayMs: number): Promise<void> {
  const world = new MemberWorld();
  const nodes = await world.settled(count);
  const before = nodes[0]?.membership.view().number;
  world.storeUp = false;
  await world.time.advance(awayMs);
  t.deepEqual(
    standings(nodes),
    nodes.map(() => 'confirmed_by_peers'),
  );
  t.true(nodes.every((node) => node.membership.mayAct() && node.membership.mayAdmit()));
  world.storeUp = true;
  await world.time.advance(10_000);
  t.deepEqual(
    standings(nodes),
    nodes.map(() => 'member'),
  );
  t.is(nodes[0]?.membership.view().number, before, 'nothing changed meanwhile');
}

test('while the store is away for a minute one process goes on by itself', (t) => storeAway(t, 1, 60_000));
test('while the store is away for a minute two confirm each other', (t) => storeAway(t, 2, 60_000));
test('while the store is away for a minute five confirm each other', (t) => storeAway(t, 5, 60_000));

test('the store away, a minority that is cut off from the others stops, and the majority goes on', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.storeUp = false;
  world.cut(one, three);
  world.cut(two, three);
  await world.time.advance(20_000);
  t.deepEqual(standings([one, two, three]), ['confirmed_by_peers', 'confirmed_by_peers', 'fenced']);
  t.is(one.viewNames(), 'p0 p1 p2', 'nobody is removed in this mode');
});

test('of two processes that lost the store and each other both stop', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  if (one === undefined || two === undefined) throw new Error('two nodes');
  world.storeUp = false;
  world.cut(one, two);
  await world.time.advance(5_000);
  t.deepEqual(standings([one, two]), ['fenced', 'fenced']);
});

test('with the durable store away as well all workers must confirm', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.storeUp = false;
  for (const node of world.nodes) node.reachesNumbers = false;
  await world.time.advance(10_000);
  t.deepEqual(
    standings([one, two, three]),
    Array.from({ length: 3 }, () => 'confirmed_by_peers'),
  );
  three.kill();
  await world.time.advance(10_000);
  t.deepEqual(standings([one, two]), ['fenced', 'fenced']);
});

test('a minority that alone reaches the store removes the confirming majority only after it has stopped', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  one.reachesStore = false;
  two.reachesStore = false;
  for (const node of [one, two]) world.cut(node, three);
  await world.time.advance(5_000);
  t.deepEqual(standings([one, two]), ['confirmed_by_peers', 'confirmed_by_peers']);
  await world.time.until(() => three.viewNames() === 'p2', 30_000);
  t.true(three.events.some((event) => event.event === 'seized'));
  t.deepEqual(standings([one, two]), ['fenced', 'fenced']);
  t.true(world.time.monotonicMs() - Math.max(one.fencedAtMs ?? 0, two.fencedAtMs ?? 0) > 0);
});

test('a flushed store removes nobody: leases and the highest view come back', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(4);
  const before = nodes[0]?.membership.view();
  world.store.flush();
  await world.time.advance(15_000);
  t.deepEqual(standings(nodes), ['member', 'member', 'member', 'member']);
  t.deepEqual(
    nodes.map((node) => node.membership.view()),
    nodes.map(() => before),
  );
  t.true(nodes.every((node) => node.events.some((event) => event.event === 'new_generation')));
});

test('a process that dies as the store is flushed is removed only after lease and margin', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.store.flush();
  three.freeze();
  const tookMs = await msUntil(world, () => one.viewNames() === 'p0 p1', 12_000);
  t.true(tookMs >= waitMs && tookMs <= 9_000, `${tookMs} ms`);
  t.deepEqual(standings([one, two]), ['member', 'member']);
});

test('a store that failed over to an older copy gets the newer view back, and the removed stay out', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  const restoreCopy = world.store.copy();
  three.freeze();
  await world.time.until(() => one.viewNames() === 'p0 p1' && two.viewNames() === 'p0 p1', 10_000);
  restoreCopy();
  await world.time.advance(10_000);
  t.is(one.viewNames(), 'p0 p1');
  t.deepEqual(standings([one, two]), ['member', 'member']);
  three.thaw();
  await world.time.advance(1_000);
  t.is(three.membership.standing(), 'fenced');
});

test('a process that cannot reach the store at start says so', async (t) => {
  const world = new MemberWorld();
  world.storeUp = false;
  const node = world.add('p0');
  const started = t.throwsAsync(() => node.start(), { message: /membership_unavailable/ });
  await world.time.advance(10_000);
  await world.finish(started);
});

test('a cluster that died whole is replaced by new processes over the same store', async (t) => {
  const world = new MemberWorld();
  const old = await world.settled(3);
  for (const node of old) node.kill();
  await world.time.advance(30_000);
  const fresh = [world.add('q0'), world.add('q1')];
  const started = Promise.all(fresh.map((node) => node.start()));
  const tookMs = await msUntil(world, () => fresh.every((node) => node.viewNames() === 'q0 q1'), 30_000);
  await world.finish(started);
  t.true(tookMs <= 20_000, `${tookMs} ms`);
});
