// Steps that the member store executes after their sender gave up.

import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import { emptyView, makeView } from '../../../../cluster/membership/view.js';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { MemoryMembers, type Transit } from '../../../../cluster/simulation/member-store.js';
import { SeededRandom, VirtualTime } from '../../../../cluster/simulation/virtual-time.js';
import { lease, member } from '../../../contracts/member-store.js';
import { MemberWorld, standings } from '../../../support/servers/member-world.js';

const { memberStoreTimeoutMs } = clusterConfig();

test('a late renewal does not make a process that its peers confirm surely gone', async (t) => {
  const world = new MemberWorld();
  const [confirmed, late, reaching] = await world.settled(3);
  if (confirmed === undefined || late === undefined || reaching === undefined) throw new Error('three nodes');
  confirmed.reachesStore = false;
  late.stepsLateMs = 4_000;
  const wrong: number[] = [];
  for (let ms = 0; ms < 30_000; ms += 20) {
    await world.time.advance(20);
    for (const node of [confirmed, late]) {
      if (reaching.membership.surelyGone(node.member.process) && node.membership.mayAct()) wrong.push(ms);
    }
  }
  t.deepEqual(wrong, []);
});

test('a process whose store clock is set forward renews again at once', async (t) => {
  const world = new MemberWorld();
  const nodes = await world.settled(3);
  world.store.setClock(60_000);
  await world.time.advance(10_000);
  world.store.setClock(-60_000);
  await world.time.advance(10_000);
  t.deepEqual(standings(nodes), ['member', 'member', 'member']);
  t.false(nodes.some(({ events }) => events.some(({ event }) => event === 'removed' || event === 'seized')));
});

/** A store whose client's steps are each on their way for as long as the test says. */
function slow() {
  const time = new VirtualTime();
  const members = new MemoryMembers(time, new SeededRandom(1));
  const way = { ms: 1 };
  const transit: Transit = (step) =>
    new Promise((resolve) => {
      time.after(way.ms, () => resolve(step()));
    });
  const client = members.client(transit);
  const after = async <Result>(ms: number, work: () => Promise<Result>): Promise<Result> => {
    way.ms = ms;
    const working = work();
    let done = false;
    void working.finally(() => {
      done = true;
    });
    await time.until(() => done, 60_000);
    return working;
  };
  return { client, after };
}

test('a renewal, a vote and a view that come later than their sender waits change nothing', async (t) => {
  const { client, after } = slow();
  const lateMs = memberStoreTimeoutMs + 50;
  const { generation } = await after(1, () => client.renew(lease('p1', 1), undefined));
  const renewal = await after(lateMs, () => client.renew(lease('p1', 2), generation));
  t.deepEqual([renewal.late, renewal.renewed, renewal.leases[0]?.renewals], [true, false, 1]);
  const vote = {
    generation,
    process: processId('p1'),
    renewals: 1,
    voter: processId('p2'),
    votesNeeded: 1,
    voteMs: 60_000,
    silenceMs: 0,
  };
  t.is((await after(lateMs, () => client.remove(vote))).outcome, 'late');
  const view = makeView(viewNumber(1), [member('p1')]);
  t.false(await after(lateMs, () => client.publish(view, { generation, follows: emptyView })));
  const { view: published, leases } = await after(1, () => client.snapshot());
  t.deepEqual([published, leases.length], [undefined, 1]);
  const again = await after(300, () => client.renew(lease('p1', 3), generation));
  t.true(again.renewed);
  t.true((again.leases[0]?.lateMs ?? 0) >= 300);
});
