import test, { type ExecutionContext } from 'ava';
import { MemberWorld, msUntil, standings } from '../../../support/servers/member-world.js';

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
  t.is(nodes[0]?.membership.view().number, before, 'the view did not change');
}

test('a single process goes on during a minute without the store', (t) => storeAway(t, 1, 60_000));
test('two processes confirm each other during a minute without the store', (t) => storeAway(t, 2, 60_000));
test('five processes confirm each other during a minute without the store', (t) => storeAway(t, 5, 60_000));

test('without the store a minority that is cut off stops, and the majority goes on', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.storeUp = false;
  world.cut(one, three);
  world.cut(two, three);
  await world.time.advance(20_000);
  t.deepEqual(standings([one, two, three]), ['confirmed_by_peers', 'confirmed_by_peers', 'fenced']);
  t.is(one.viewNames(), 'p0 p1 p2', 'no process is removed without the store');
});

test('two processes that cannot reach the store or each other both stop', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  if (one === undefined || two === undefined) throw new Error('two nodes');
  world.storeUp = false;
  world.cut(one, two);
  await world.time.advance(5_000);
  t.deepEqual(standings([one, two]), ['fenced', 'fenced']);
});

test('if the durable store is unreachable too, all workers must confirm', async (t) => {
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

test('a minority that reaches the store removes the confirming majority only after that has stopped', async (t) => {
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

test('a majority that cannot reach the store but answers probes is not removed within a lease', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  one.reachesStore = false;
  two.reachesStore = false;
  await world.time.advance(waitMs - 1_000);
  t.false(three.events.some((event) => event.event === 'seized'));
  one.reachesStore = true;
  two.reachesStore = true;
  await world.time.advance(10_000);
  t.deepEqual(standings([one, two, three]), ['member', 'member', 'member']);
});

test('one silent process among those that answer leads to no seizure, which would end them', async (t) => {
  const world = new MemberWorld();
  const [one, ...others] = await world.settled(5);
  const silent = others.pop();
  if (one === undefined || silent === undefined) throw new Error('five nodes');
  silent.freeze();
  for (const node of others) node.reachesStore = false;
  await world.time.advance(waitMs - 1_000);
  t.false(one.events.some((event) => event.event === 'seized'));
  for (const node of others) node.reachesStore = true;
  await world.time.advance(10_000);
  t.is(one.viewNames(), 'p0 p1 p2 p3');
  t.deepEqual(standings([one, ...others]), ['member', 'member', 'member', 'member']);
});

test('workers that were declared dead and came back can later go on without the store', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(3);
  const [one, two, three] = nodes;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  one.reachesStore = false;
  two.reachesStore = false;
  for (const node of [one, two]) world.cut(node, three);
  await world.time.until(() => three.events.some((event) => event.event === 'seized'), 5_000);
  const before = three.membership.view().number;
  one.reachesStore = true;
  two.reachesStore = true;
  for (const node of [one, two]) world.join(node, three);
  await world.time.until(() => nodes.every((node) => node.membership.view().number > before), 5_000);
  t.is(three.viewNames(), 'p0 p1 p2');
  world.storeUp = false;
  await world.time.advance(20_000);
  t.deepEqual(
    standings(nodes),
    nodes.map(() => 'confirmed_by_peers'),
  );
});

test('the first process to reach the store after an outage does not declare the others dead', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  // Its probes fail too: it knows only what is in the store, and has promised nothing.
  world.cut(one, two);
  world.cut(one, three);
  for (const node of [one, two, three]) node.reachesStore = false;
  await world.time.advance(2_200);
  one.reachesStore = true;
  await world.time.advance(2_000);
  two.reachesStore = true;
  three.reachesStore = true;
  await world.time.advance(10_000);
  t.false(one.events.some((event) => event.event === 'seized'));
  t.deepEqual(standings([one, two, three]), ['member', 'member', 'member']);
});

test('if most workers vanish, the others are alone in the view within 9 s and certain of it within 10 s', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(5);
  const [one, two, ...vanished] = nodes;
  if (one === undefined || two === undefined) throw new Error('five nodes');
  // Frozen for good, with silent addresses: this is how a vanished machine appears.
  for (const node of vanished) node.freeze();
  const [lost] = vanished;
  if (lost === undefined) throw new Error('three vanished');
  const sure = Promise.all(
    [one, two].map(({ membership }) =>
      membership.whenSurelyGone(lost.member.process, new AbortController().signal),
    ),
  );
  const tookMs = await msUntil(
    world,
    () => one.viewNames() === 'p0 p1' && two.viewNames() === 'p0 p1',
    9_000,
  );
  await world.finish(sure, 10_000 - tookMs);
  t.true(tookMs > waitMs, 'the deaths are not certain before lease and margin');
});

test('a cluster that was stopped completely starts again at once, because each process left a departure record', async (t) => {
  const world = new MemberWorld();
  const old = await world.settled(3);
  const stopping = Promise.all(
    old.map(async ({ membership }) => {
      await membership.beginLeave();
      await membership.leave();
    }),
  );
  const stoppedMs = await msUntil(
    world,
    () => old.every((node) => node.membership.standing() === 'left'),
    2_000,
  );
  await world.finish(stopping);
  t.true(stoppedMs < 1_000, `the last process must not wait for a successor: ${stoppedMs} ms`);
  const fresh = [world.add('q0'), world.add('q1')];
  const started = Promise.all(fresh.map((node) => node.start()));
  const tookMs = await msUntil(world, () => fresh.every((node) => node.viewNames() === 'q0 q1'), 10_000);
  await world.finish(started);
  t.true(tookMs <= 2_000, `${tookMs} ms`);
});

test('a process that lost most of its peers while bound by a promise is certain of it within 10 s', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.storeUp = false;
  await world.time.until(() => one.membership.standing() === 'confirmed_by_peers', 5_000);
  await world.time.until(() => two.membership.standing() === 'confirmed_by_peers', 5_000);
  world.storeUp = true;
  for (const node of [two, three]) node.freeze();
  const sure = one.membership.whenSurelyGone(two.member.process, new AbortController().signal);
  await world.finish(sure, 10_000);
  t.is(one.viewNames(), 'p0');
});

test('a process that lost its lease is surely gone by its departure record, also for processes that joined later', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.cut(three, one);
  world.cut(three, two);
  world.store.takeAway(three.member.process);
  await world.time.until(() => three.membership.standing() === 'fenced', 2_000);
  const late = world.add('q0');
  await world.finish(late.start());
  const sure = Promise.all(
    [one, late].map(({ membership }) =>
      membership.whenSurelyGone(three.member.process, new AbortController().signal),
    ),
  );
  const startedMs = world.time.monotonicMs();
  await world.finish(sure, 2_000);
  t.true(world.time.monotonicMs() - startedMs < 1_500, 'no process waits for its lease');
});

test('a flush removes no process: leases and the highest view are restored', async (t) => {
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

test('a process that dies during a flush is removed only after lease and margin', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  world.store.flush();
  three.freeze();
  const tookMs = await msUntil(world, () => one.viewNames() === 'p0 p1', 12_000);
  t.true(tookMs >= waitMs && tookMs <= 9_000, `${tookMs} ms`);
  t.deepEqual(standings([one, two]), ['member', 'member']);
});

test('after a failover to an older copy the newer view is restored, and removed processes stay out', async (t) => {
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

test('a process that cannot reach the store at start fails with an error', async (t) => {
  const world = new MemberWorld();
  world.storeUp = false;
  const node = world.add('p0');
  const started = t.throwsAsync(() => node.start(), { message: /membership_unavailable/ });
  await world.time.advance(10_000);
  await world.finish(started);
});

test('a cluster that died completely is replaced by new processes on the same store', async (t) => {
  const world = new MemberWorld();
  const old = await world.settled(3);
  for (const node of old) node.kill();
  await world.time.advance(30_000);
  const fresh = [world.add('q0'), world.add('q1')];
  const started = Promise.all(fresh.map((node) => node.start()));
  const tookMs = await msUntil(world, () => fresh.every((node) => node.viewNames() === 'q0 q1'), 30_000);
  await world.finish(started);
  t.true(tookMs <= 9_000, `${tookMs} ms`);
});

test('a process that joins after most workers died is certain of it as soon as those that stayed', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(5);
  const [killed, stayed] = [nodes.slice(0, 3), nodes.slice(3)];
  for (const node of killed) node.kill();
  const killedMs = world.time.monotonicMs();
  // Their links broke, and their addresses refuse.
  for (const { membership } of stayed) {
    for (const node of killed) membership.reportRefused(node.member.process);
  }
  const removed = (): number =>
    stayed.flatMap(({ events }) => events.filter(({ event }) => event === 'removed')).length;
  // It still reads the old view, but most of the leases are gone, so it cannot find out how these processes ended.
  await world.time.until(() => removed() >= 2, 5_000);
  // Their names come first in the next view, before those of the processes that stayed.
  const joined = ['a0', 'a1'].map((name) => world.add(name));
  const started = Promise.all(joined.map((node) => node.start()));
  const sure = Promise.all(
    joined.flatMap(({ membership }) =>
      killed.map((node) => membership.whenSurelyGone(node.member.process, new AbortController().signal)),
    ),
  );
  await world.finish(Promise.all([started, sure]), 20_000);
  const tookMs = world.time.monotonicMs() - killedMs;
  t.true(tookMs < 8_500, `${tookMs} ms`);
});

test('a number that a process seized as it joined ends workers that all confirm each other', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(3);
  for (const node of nodes) node.reachesStore = false;
  await world.time.advance(3_000);
  const joining = world.add('q0');
  const started = joining.start();
  await world.time.until(() => joining.events.some((event) => event.event === 'seized'), 15_000);
  await world.time.advance(4_500);
  t.deepEqual(standings(nodes), ['fenced', 'fenced', 'fenced']);
  t.false(joining.membership.surelyGone(nodes[0]?.member.process ?? joining.member.process));
  await world.time.until(() => joining.viewNames() === 'q0', 10_000);
  await world.finish(started);
});
