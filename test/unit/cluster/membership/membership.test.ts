import test from 'ava';
import type { MemberNode } from '../../../support/servers/member-world.js';
import { MemberWorld, msUntil, standings } from '../../../support/servers/member-world.js';

function countViews(node: MemberNode): number {
  return node.events.filter((event) => event.event === 'view').length;
}

test('a single first process makes view 1 and becomes its member within a second', async (t) => {
  const world = new MemberWorld();
  const node = world.add('p0');
  const started = node.start();
  await world.time.until(() => node.membership.standing() === 'member', 1_000);
  await world.finish(started);
  t.is(node.viewNames(), 'p0');
  t.is(Number(node.membership.view().number), 1);
  t.true(node.membership.mayAdmit());
  t.true(node.membership.mayAct());
});

test('processes that start together share few views, because changes are coalesced', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(5);
  t.deepEqual(new Set(nodes.map((node) => node.viewNames())), new Set(['p0 p1 p2 p3 p4']));
  t.true(Math.max(...nodes.map(countViews)) <= 3);
});

test('an edge-only process knows the view but is not a member of it', async (t) => {
  const world = new MemberWorld();
  const [worker] = await world.settled(1);
  const edge = world.add('edge', ['edge']);
  const started = edge.start();
  await world.time.advance(3_000);
  await world.finish(started);
  t.is(edge.viewNames(), 'p0');
  t.is(worker?.viewNames(), 'p0');
  t.true(edge.membership.mayAdmit());
});

test('a killed process whose address refuses its peers leaves the view within 2 s', async (t) => {
  for (let seed = 1; seed <= 5; seed += 1) {
    const world = new MemberWorld(seed);
    const [one, two, three] = await world.settled(3);
    if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
    await world.time.advance(world.random.fraction() * 1_000);
    three.kill();
    one.membership.reportRefused(three.member.process);
    two.membership.reportRefused(three.member.process);
    const tookMs = await msUntil(
      world,
      () => one.viewNames() === 'p0 p1' && two.viewNames() === 'p0 p1',
      4_000,
    );
    t.true(tookMs <= 2_000, `seed ${seed}: ${tookMs} ms`);
    t.false(
      one.membership.surelyGone(three.member.process),
      'a refusal alone does not prove that the process is gone',
    );
    const sureMs = await msUntil(world, () => one.membership.surelyGone(three.member.process), 8_000);
    t.true(tookMs + sureMs >= 4_500);
    t.deepEqual(standings([one, two]), ['member', 'member']);
  }
});

/** Kills processes and reports refusals, as broken links would. Returns the ms until none of them is in a view. */
async function killedUntilOut(
  world: MemberWorld,
  killed: readonly MemberNode[],
  rest: readonly MemberNode[],
): Promise<number> {
  const names = rest
    .map((node) => String(node.member.process))
    .toSorted()
    .join(' ');
  for (const node of killed) node.kill();
  await world.time.advance(50);
  for (const node of rest) for (const { member } of killed) node.membership.reportRefused(member.process);
  const isOut = (): boolean => rest.every((node) => node.viewNames() === names);
  return 50 + (await msUntil(world, isOut, 12_000));
}

test('processes killed shortly after each other each leave the view within 2 s, even if all remaining ones have just joined', async (t) => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const world = new MemberWorld(seed);
    let nodes = await world.settled(3);
    for (let round = 0; round < 3; round += 1) {
      await world.time.advance(world.random.fraction() * 1_000);
      const [oldest, ...rest] = nodes;
      if (oldest === undefined) throw new Error('three nodes');
      const tookMs = await killedUntilOut(world, [oldest], rest);
      t.true(tookMs <= 2_000, `seed ${seed}, round ${round}: ${tookMs} ms`);
      const fresh = world.add(`q${round}`);
      const started = fresh.start();
      await world.time.until(() => fresh.membership.standing() === 'member', 6_000);
      await world.finish(started);
      nodes = [...rest, fresh];
    }
  }
});

/** Most of five processes are killed at once: how long until they are out of the view, and until surely gone. */
async function mostKilled(seed: number, exitsSeen: boolean): Promise<{ outMs: number; sureMs: number }> {
  const world = new MemberWorld(seed);
  world.exitsSeen = exitsSeen;
  const nodes = await world.settled(5);
  await world.time.advance(world.random.fraction() * 1_000);
  const [killed, rest] = [nodes.slice(2), nodes.slice(0, 2)];
  const outMs = await killedUntilOut(world, killed, rest);
  const isSure = (): boolean =>
    rest.every(({ membership }) => killed.every(({ member }) => membership.surelyGone(member.process)));
  return { outMs, sureMs: outMs + (await msUntil(world, isSure, 12_000)) };
}

test('if most processes are killed at once and their exits are seen they leave the view as fast as a single one, because none can have promised anything', async (t) => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const { outMs, sureMs } = await mostKilled(seed, true);
    t.true(outMs <= 1_700, `seed ${seed}: out after ${outMs} ms`);
    t.is(sureMs, outMs);
  }
});

test('if most processes refuse at once, which proves no end, they leave the view within 7 s and are surely gone within 8.5 s', async (t) => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const { outMs, sureMs } = await mostKilled(seed, false);
    t.true(outMs <= 7_000, `seed ${seed}: out after ${outMs} ms`);
    t.true(sureMs <= 8_500, `seed ${seed}: surely gone after ${sureMs} ms`);
  }
});

test('a killed process that receives no calls is detected by probes and leaves the view within 4 s', async (t) => {
  const world = new MemberWorld(3);
  const [one, two, three] = await world.settled(3);
  three?.kill();
  const tookMs = await msUntil(
    world,
    () => one?.viewNames() === 'p0 p1' && two?.viewNames() === 'p0 p1',
    6_000,
  );
  t.true(tookMs <= 4_000, `${tookMs} ms`);
});

test('with two processes one refusal is enough', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  two?.kill();
  if (two !== undefined) one?.membership.reportRefused(two.member.process);
  const tookMs = await msUntil(world, () => one?.viewNames() === 'p0', 4_000);
  t.true(tookMs <= 2_000, `${tookMs} ms`);
});

test('an exit seen by a peer on the same host makes the process surely gone for all members at once', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  three.kill();
  one.membership.reportExited(three.member.process);
  const tookMs = await msUntil(
    world,
    () => two.viewNames() === 'p0 p1' && two.membership.surelyGone(three.member.process),
    3_000,
  );
  t.true(tookMs <= 1_000, `${tookMs} ms`);
});

test('an exit that is seen only after the first refusal makes the process surely gone with a later poll', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  three.kill();
  one.membership.reportRefused(three.member.process);
  two.membership.reportRefused(three.member.process);
  await world.time.advance(200);
  world.exitsSeen = true;
  const tookMs = await msUntil(world, () => two.membership.surelyGone(three.member.process), 6_000);
  t.true(tookMs <= 2_000, `${tookMs} ms`);
});

test('a live process whose listener refuses two peers leaves the view and fences itself at its next renewal', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  three.freeze();
  // A refusal refers to the last renewal that the refused peer saw.
  await world.time.advance(600);
  one.membership.reportRefused(three.member.process);
  two.membership.reportRefused(three.member.process);
  await world.time.until(() => one.viewNames() === 'p0 p1', 3_000);
  t.is(three.fencedAtMs, undefined);
  three.thaw();
  await world.time.advance(1_500);
  t.is(three.membership.standing(), 'fenced');
  t.false(three.membership.mayAct());
});

test('refusals do not remove a process that keeps renewing', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  for (let round = 0; round < 20; round += 1) {
    one.membership.reportRefused(three.member.process);
    two.membership.reportRefused(three.member.process);
    await world.time.advance(300);
  }
  t.is(one.viewNames(), 'p0 p1 p2');
  t.deepEqual(standings([one, two, three]), ['member', 'member', 'member']);
});

test('a frozen process is replaced within 8 s and is fenced before it can act again', async (t) => {
  for (let seed = 1; seed <= 5; seed += 1) {
    const world = new MemberWorld(seed);
    const [one, two, three] = await world.settled(3);
    if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
    await world.time.advance(world.random.fraction() * 1_000);
    three.freeze();
    const tookMs = await msUntil(
      world,
      () => one.viewNames() === 'p0 p1' && two.viewNames() === 'p0 p1',
      10_000,
    );
    t.true(tookMs > 4_500 && tookMs <= 8_000, `seed ${seed}: ${tookMs} ms`);
    t.true(one.membership.surelyGone(three.member.process));
    // Checked before any of its timers runs.
    t.false(three.membership.mayAct());
    t.is(three.membership.standing(), 'fenced');
  }
});

test('the wall clock alone fences a process whose machine was paused', async (t) => {
  const world = new MemberWorld();
  const [one] = await world.settled(2);
  if (one === undefined) throw new Error('two nodes');
  one.freeze();
  await world.time.advance(3_000);
  one.time.pausedMs = 3_000;
  t.true(one.membership.mayAct(), '3 s are within the right to act');
  t.false(one.membership.mayAdmit());
  await world.time.advance(800);
  one.time.pausedMs = 3_800;
  t.false(one.membership.mayAct());
});

test('setting the wall clock back does not extend the right to act', async (t) => {
  const world = new MemberWorld();
  const [one] = await world.settled(2);
  if (one === undefined) throw new Error('two nodes');
  one.freeze();
  one.time.wallOffMs = -60_000;
  await world.time.advance(3_600);
  t.false(one.membership.mayAct());
});

test('a process cut off only from the store stops acting at 3.5 s and is replaced after the lease', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  three.reachesStore = false;
  const startedMs = world.time.monotonicMs();
  await world.time.until(() => three.fencedAtMs !== undefined, 5_000);
  t.true((three.fencedAtMs ?? 0) - startedMs <= 3_800);
  t.is(one.viewNames(), 'p0 p1 p2', 'no process has taken over yet');
  await world.time.until(() => one.viewNames() === 'p0 p1', 6_000);
  t.deepEqual(standings([one, two]), ['member', 'member']);
});

test('a leaving process leaves the view at once and keeps its lease until it releases it', async (t) => {
  const world = new MemberWorld();
  const [one, two, three] = await world.settled(3);
  if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
  const leaving = three.membership.beginLeave();
  await world.time.until(() => one.viewNames() === 'p0 p1' && three.viewNames() === 'p0 p1', 2_000);
  await world.finish(leaving ?? Promise.resolve());
  await world.time.advance(20_000);
  t.true(three.membership.mayAct());
  t.false(three.membership.mayAdmit());
  t.false(one.membership.surelyGone(three.member.process));
  const left = three.membership.leave();
  await world.time.advance(100);
  await world.finish(left ?? Promise.resolve());
  t.false(three.membership.mayAct());
  t.is(three.membership.standing(), 'left');
  t.is(three.fencedAtMs, undefined);
});

test('view numbers rise while all processes are replaced one after the other', async (t) => {
  const world = new MemberWorld();
  let nodes = await world.settled(3);
  const numbers: number[] = [];
  const follow = (node: MemberNode): void => void node.membership.onView((view) => numbers.push(view.number));
  const [first] = nodes;
  if (first !== undefined) follow(first);
  for (let round = 0; round < 3; round += 1) {
    const fresh = world.add(`q${round}`);
    const started = fresh.start();
    await world.time.until(() => fresh.membership.standing() === 'member', 6_000);
    await world.finish(started);
    const [, ...rest] = nodes.toReversed();
    const old = nodes.at(-1);
    const leaving = old?.membership.beginLeave();
    const kept = rest.toReversed();
    nodes = [fresh, ...kept];
    await world.time.until(
      () => nodes.every((node) => !node.viewNames().includes(String(old?.member.process))),
      6_000,
    );
    await world.finish(leaving ?? Promise.resolve());
    const left = old?.membership.leave();
    await world.time.advance(100);
    await world.finish(left ?? Promise.resolve());
  }
  t.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  );
  t.deepEqual(standings(nodes), ['member', 'member', 'member']);
});

test('whenSurelyGone resolves once the process is surely gone', async (t) => {
  const world = new MemberWorld();
  const [one, two] = await world.settled(2);
  if (one === undefined || two === undefined) throw new Error('two nodes');
  const controller = new AbortController();
  let resolved = false;
  const waiting = one.membership.whenSurelyGone(two.member.process, controller.signal).then(() => {
    resolved = true;
  });
  two.freeze();
  await world.time.advance(4_000);
  t.false(resolved);
  await world.time.advance(5_000);
  await world.finish(waiting);
  t.true(resolved);
});

test('a process that joined later learns from the others which process is surely gone', async (t) => {
  const world = new MemberWorld();
  const [, , lost] = await world.settled(3);
  if (lost === undefined) throw new Error('three nodes');
  lost.freeze();
  await world.time.advance(4_000);
  const later = world.add('later');
  await world.finish(later.start());
  const startedMs = world.time.monotonicMs();
  await world.finish(
    later.membership.whenSurelyGone(lost.member.process, new AbortController().signal),
    10_000,
  );
  const tookMs = world.time.monotonicMs() - startedMs;
  t.true(tookMs < 4_000, `it waited for the whole silence itself: ${tookMs} ms`);
});
