// What a refused connection proves, and what it does not.

import test from 'ava';
import { type MemberNode, MemberWorld, msUntil, standings } from '../../../support/servers/member-world.js';

const waitMs = 5_500;

async function three(world: MemberWorld): Promise<[MemberNode, MemberNode, MemberNode]> {
  const [one, two, last] = await world.settled(3);
  if (one === undefined || two === undefined || last === undefined) throw new Error('three nodes');
  return [one, two, last];
}

/** Five nodes, of which the last three are of interest. */
async function five(world: MemberWorld) {
  const [one, two, refused, ...others] = await world.settled(5);
  if (one === undefined || two === undefined || refused === undefined) throw new Error('five nodes');
  return { stayed: [one, two], refused, others };
}

test('a refusal that only one of several peers meets removes no process before its lease has passed', async (t) => {
  const world = new MemberWorld();
  const [one, two, refused] = await three(world);
  // Only the way from the first is broken: the second gets no answer, but no refusal either.
  refused.freeze();
  const isOut = (): boolean => {
    one.membership.reportRefused(refused.member.process);
    return one.viewNames() === 'p0 p1';
  };
  const tookMs = await msUntil(world, isOut, 10_000);
  t.true(tookMs > waitMs - world.config.leaseRenewMs, `${tookMs} ms`);
  const removals = [one, two].flatMap(({ events }) => events.filter(({ event }) => event === 'removed'));
  t.like(removals, [{ because: 'silent' }]);
});

test('a refusal before a renewal says nothing about a later silence', async (t) => {
  const world = new MemberWorld();
  const [one, two, asking] = await three(world);
  const majority = [one, two];
  // Their listeners were full for a moment.
  for (const { member } of majority) asking.membership.reportRefused(member.process);
  await world.time.advance(10_000);
  t.deepEqual(standings(world.nodes), ['member', 'member', 'member']);
  for (const node of majority) {
    node.reachesStore = false;
    world.cut(node, asking);
  }
  await world.time.until(() => asking.viewNames() === 'p2', 30_000);
  t.deepEqual(
    standings(majority),
    ['fenced', 'fenced'],
    'no view excludes processes that confirm each other',
  );
  t.true(asking.events.some(({ event }) => event === 'seized'));
});

/** Three of five confirm each other. The way to one of them refuses, as a firewall does. */
async function oneOfMajorityRefuses(world: MemberWorld) {
  const { stayed, refused, others } = await five(world);
  for (const node of [refused, ...others]) {
    node.reachesStore = false;
    for (const other of stayed) world.cut(node, other);
  }
  return { stayed, refused, others };
}

/** The processes that are held for surely gone while they may act, at any time of the next 15 s. */
async function goneThatAct(
  world: MemberWorld,
  { stayed, refused, others }: Awaited<ReturnType<typeof five>>,
): Promise<string[]> {
  const { process } = refused.member;
  const wrong: string[] = [];
  for (let ms = 0; ms < 15_000; ms += 20) {
    for (const { membership } of stayed) membership.reportRefused(process);
    await world.time.advance(20);
    for (const { member, membership } of [refused, ...others]) {
      const isGone = stayed.some((node) => node.membership.surelyGone(member.process));
      if (isGone && membership.mayAct()) wrong.push(`${member.process} after ${ms} ms`);
    }
  }
  return wrong;
}

test('a process that refuses its peers is not surely gone before the majority that may confirm it has stopped', async (t) => {
  const world = new MemberWorld();
  const nodes = await oneOfMajorityRefuses(world);
  const { process } = nodes.refused.member;
  const sure = Promise.all(
    nodes.stayed.map(({ membership }) => membership.whenSurelyGone(process, new AbortController().signal)),
  );
  t.deepEqual(await goneThatAct(world, nodes), []);
  await world.finish(sure);
});

test('a refusal by one of a majority makes none of the others surely gone, even if nobody waits for the end of any', async (t) => {
  const world = new MemberWorld();
  const nodes = await oneOfMajorityRefuses(world);
  t.deepEqual(await goneThatAct(world, nodes), []);
  const isOut = (): boolean => nodes.stayed.every((node) => node.viewNames() === 'p0 p1');
  t.true(isOut(), 'the majority was ended by a seized number');
});

test('a removed lease makes no process surely gone that its peers confirm', async (t) => {
  const world = new MemberWorld();
  const nodes = await oneOfMajorityRefuses(world);
  // As if others had removed it: its process cannot know.
  world.store.takeAway(nodes.refused.member.process);
  t.deepEqual(await goneThatAct(world, nodes), []);
});

test('doubt about a removed process that somebody waits for ends within 9 s, because a number is seized', async (t) => {
  const world = new MemberWorld();
  const { stayed, refused, others } = await five(world);
  refused.kill();
  for (const node of others) node.freeze();
  for (const { membership } of stayed) membership.reportRefused(refused.member.process);
  const process = refused.member.process;
  const sure = Promise.all(
    stayed.map(({ membership }) => membership.whenSurelyGone(process, new AbortController().signal)),
  );
  const startedMs = world.time.monotonicMs();
  const hasSeized = (): boolean =>
    stayed.some(({ events }) => events.some(({ event }) => event === 'seized'));
  await world.time.until(hasSeized, waitMs);
  await world.finish(sure, 20_000);
  const tookMs = world.time.monotonicMs() - startedMs;
  t.true(tookMs > waitMs, 'three of five could have confirmed each other');
  t.true(tookMs <= 9_000, `${tookMs} ms`);
});
