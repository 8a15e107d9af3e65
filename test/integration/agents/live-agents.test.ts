// The running version of an agent for other subjects: cached, and dropped on change, on every node.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { LiveAgents } from '../../../src/agents/live-agents.js';
import type { ChangeFeed, ChangeSubscriber, Store } from '../../../src/infra/storage/index.js';
import { type AgentsBench, idOf, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let bench: AgentsBench;
let secondNode: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
  secondNode = await startAgents(database, { feedTime: new ManualTime('2026-01-01T00:00:00Z') });
});

async function newAgent(fields: object = {}) {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'live', bio: 'first', ...fields }));
  return { owner, id, scope: owner.caller.scope, at: `/api/agents/${id}` };
}

test('the version published last runs, and is in force when its answer arrives', async (t) => {
  const { owner, id, scope, at } = await newAgent();
  const { publishedAgent } = bench.subject;
  t.is(await publishedAgent(scope, id), undefined, 'a draft does not run');
  const user = randomUUID();
  for (let round = 1; round <= 5; round += 1) {
    await owner.call('PATCH', at, { bio: `round ${round}` });
    await owner.call('POST', `${at}/publish`, { config: { rate_limit: round, allowed_users: [user] } });
    await owner.call('PATCH', at, { bio: 'not published' });
    const live = await publishedAgent(scope, id);
    t.is(live?.version, round);
    t.is(live?.snapshot.bio, `round ${round}`);
    t.is(live?.rateLimit, round);
    t.deepEqual([...(live?.allowedUsers ?? [])], [user]);
  }
  await owner.call('POST', `${at}/unpublish`);
  t.is(await publishedAgent(scope, id), undefined);
  await owner.call('POST', `${at}/publish`);
  t.is((await publishedAgent(scope, id))?.version, 6);
  await owner.call('POST', `${at}/versions/1/rollback`);
  t.is((await publishedAgent(scope, id))?.snapshot.bio, 'round 1');
  await owner.call('DELETE', at);
  t.is(await publishedAgent(scope, id), undefined);
});

test('another node has the change as soon as it is told', async (t) => {
  const { owner, id, scope, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  t.is((await secondNode.subject.publishedAgent(scope, id))?.version, 1);
  await owner.call('POST', `${at}/publish`);
  await eventually(async () => (await secondNode.subject.publishedAgent(scope, id))?.version === 2);
  await owner.call('POST', `${at}/unpublish`);
  await eventually(async () => (await secondNode.subject.publishedAgent(scope, id)) === undefined);
});

test('a cached agent is returned without a promise, and only to its tenant', async (t) => {
  const { owner, id, scope, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  await bench.subject.publishedAgent(scope, id);
  const kept = await eventually(() => {
    const answer = bench.subject.publishedAgent(scope, id);
    return answer instanceof Promise ? undefined : answer;
  });
  t.is(kept.id, id);
  t.is(await bench.subject.publishedAgent(await bench.newTenant(), id), undefined);
  t.is(await bench.subject.publishedAgent(scope, randomUUID()), undefined);
  t.is(await bench.subject.publishedAgent(scope, 'nonsense'), undefined);
});

/** A feed and a store with an order of events that the test decides; the reads use the real store. */
function inHand(store: Store) {
  let subscriber: ChangeSubscriber | undefined;
  let fresh = true;
  let reads = 0;
  let gate: Promise<void> = Promise.resolve();
  const feed: ChangeFeed = {
    subscribe: (_, given) => {
      subscriber = given;
      return () => true;
    },
    isFresh: () => fresh,
    position: 0,
    reached: () => Promise.resolve(true),
    close: () => Promise.resolve(),
  };
  const gated: Store = {
    ...store,
    inTenant: async (scope, handler, options) => {
      reads += 1;
      const result = await store.inTenant(scope, handler, options);
      await gate;
      return result;
    },
  };
  return {
    agents: new LiveAgents(gated, feed),
    hold(): () => void {
      let release = (): void => undefined;
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    change: (tenantId: string, subject: string) =>
      subscriber?.onChange({ number: 1, topic: 'agent', tenantId, subject }),
    dropEverything: () => subscriber?.onDropEverything(),
    stale: () => {
      fresh = false;
    },
    reads: () => reads,
  };
}

test('a load overtaken by a change is not cached, and no later caller joins it', async (t) => {
  const { owner, id, scope, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  const hand = inHand(bench.store);
  const release = hand.hold();
  const early = hand.agents.get(scope, id);
  await eventually(() => hand.reads() === 1);
  await owner.call('POST', `${at}/publish`);
  hand.change(scope.tenantId, id);
  const late = hand.agents.get(scope, id);
  await eventually(() => hand.reads() === 2);
  release();
  t.is((await late)?.version, 2);
  await early;
  t.is((await hand.agents.get(scope, id))?.version, 2);
  t.is(hand.reads(), 2);
});

test('concurrent loads are one, and without the feed every question is a read', async (t) => {
  const { owner, id, scope, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  const hand = inHand(bench.store);
  await Promise.all(Array.from({ length: 20 }, async () => hand.agents.get(scope, id)));
  t.is(hand.reads(), 1);
  hand.dropEverything();
  await hand.agents.get(scope, id);
  t.is(hand.reads(), 2);
  hand.stale();
  await hand.agents.get(scope, id);
  await hand.agents.get(scope, id);
  t.is(hand.reads(), 4);
});
