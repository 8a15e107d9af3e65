// Readers that know all but the numbers of the leases get these alone, and still see each change at once.
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { clusterConfig } from '../../../../cluster/config.js';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import type { MemberStore, Snapshot } from '../../../../cluster/membership/member-store.js';
import { openRedisMembers } from '../../../../cluster/membership/redis/member-store.js';
import { parseState } from '../../../../cluster/membership/redis/record.js';
import { makeView } from '../../../../cluster/membership/view.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { lease, member } from '../../../contracts/member-store.js';
import { PrivateRedis } from '../../../support/servers/redis.js';

/** Tolerates commands that a stalled machine delays for seconds. */
const config = clusterConfig({
  memberStoreTimeoutMs: 20_000,
  leaseMs: 100_000,
  leaseActMs: 90_000,
  leaseAdmitMs: 80_000,
});
const unpackedMs = 60_000;

/** Two readers of one cluster, each with a mind of its own, and what Redis holds. */
async function rig(t: ExecutionContext) {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  const redis = new Redis(server.url);
  t.teardown(() => redis.disconnect());
  const open = async (): Promise<MemberStore> => {
    const options = { url: server.url, cluster: 'a', config, random: systemRandom, time: systemTime };
    const store = await openRedisMembers(options);
    t.teardown(() => store.close());
    return store;
  };
  return { redis, one: await open(), other: await open() };
}

const key = (name: string): string => `{troupe:a}:${name}`;

/** What the hash says, read without any script. */
async function truth(redis: Redis): Promise<Snapshot> {
  const all = await redis.hgetall(key('members'));
  return parseState([all['mark'], '0', Object.entries(all).flat()], undefined).snapshot;
}

function comparable({ leases, departed, view, generation }: Snapshot) {
  return {
    leases: leases.toSorted((a, b) => compared(a.member.process, b.member.process)),
    departed: departed.toSorted((a, b) => compared(a.process, b.process)),
    view,
    generation,
  };
}

function compared(one: string, other: string): number {
  return one < other ? -1 : 1;
}

async function sumOfReads(redis: Redis): Promise<number> {
  return Number(/cmdstat_hgetall:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

/** As a process of version 0.1 writes its lease. */
async function writeUnpacked(redis: Redis, renewals: number): Promise<void> {
  const text = `${renewals} 1 0 0 0 0 ${JSON.stringify(member('old'))}`;
  await redis.hset(key('members'), 'lease:old', text);
}

test('a reader that knows the members gets only what renewals change', async (t) => {
  const { redis, one, other } = await rig(t);
  for (const name of ['p1', 'p2', 'p3']) await one.renew(lease(name, 1), undefined);
  await other.snapshot();
  await one.snapshot();
  const readsBefore = await sumOfReads(redis);
  const layout = await redis.hget(key('members'), 'layout');
  const changes = { promisedMs: 5_000, holds: viewNumber(7), leaving: true };
  await one.renew(lease('p2', 2, changes), undefined);
  const { leases } = await other.snapshot();
  const { lateMs, ...second } = leases.find(({ member: of }) => of.process === 'p2') ?? { lateMs: -1 };
  t.deepEqual(second, lease('p2', 2, changes));
  t.true(lateMs >= 0);
  t.is(await sumOfReads(redis), readsBefore, 'nothing was read whole');
  t.is(await redis.hget(key('members'), 'layout'), layout);
});

test('a reader that knows the members sees every other change at once', async (t) => {
  const { redis, one, other } = await rig(t);
  for (const name of ['p1', 'p2', 'p3']) await one.renew(lease(name, 1), undefined);
  const { generation } = await other.snapshot();
  const names = async (): Promise<string> =>
    (await other.snapshot()).leases
      .map(({ member: of, renewals }) => `${of.process} ${renewals}`)
      .toSorted()
      .join();
  t.is(await names(), 'p1 1,p2 1,p3 1');
  const request = { generation, process: processId('p2'), renewals: 1, voter: processId('p1') };
  await one.remove({ ...request, votesNeeded: 1, voteMs: 60_000, silenceMs: 0 });
  t.is(await names(), 'p1 1,p3 1');
  await one.release({ process: processId('p3'), promisedMs: 5 });
  t.deepEqual((await other.snapshot()).departed, [{ process: processId('p3'), promisedMs: 5 }]);
  await one.publish(makeView(viewNumber(1), [member('p1')]), { generation, follows: undefined });
  t.is((await other.snapshot()).view?.number, viewNumber(1));
  await one.publish(makeView(viewNumber(2), [member('p1')]), { generation, follows: undefined });
  t.is((await other.snapshot()).view?.number, viewNumber(2));
  await one.renew(lease('p4', 1), undefined);
  t.is(await names(), 'p1 1,p4 1');
  const moved = { ...lease('p4', 2), member: { ...member('p4'), address: 'elsewhere:1' } };
  await one.renew(moved, undefined);
  const { leases } = await other.snapshot();
  t.is(leases.find(({ member: of }) => of.process === 'p4')?.member.address, 'elsewhere:1');
  // Whichever of them has the last place: a write there would fill the places before it with zeros.
  for (const [name, renewals, seen] of [
    ['p1', 3, 'p1 3,p4 2'],
    ['p4', 4, 'p1 3,p4 4'],
  ] as const) {
    await redis.del(key('packed'));
    const { member: of } = name === 'p4' ? moved : lease(name, 1);
    await one.renew({ ...lease(name, renewals), member: of }, undefined);
    t.is(await names(), seen, 'Redis evicted the string');
  }
});

test('a process that does not know the layout renews in its place', async (t) => {
  const { redis, one, other } = await rig(t);
  for (const name of ['p1', 'p11', 'p2', 'p22', 'p222']) await one.renew(lease(name, 1), undefined);
  await one.snapshot();
  const layout = await redis.hget(key('members'), 'layout');
  // `other` has read nothing yet.
  for (const name of ['p22', 'p1', 'p222']) await other.renew(lease(name, 2), undefined);
  const seen = (await one.snapshot()).leases.map(({ member: of, renewals }) => `${of.process} ${renewals}`);
  t.is(seen.toSorted().join(), 'p1 2,p11 1,p2 1,p22 2,p222 2');
  t.is(await redis.hget(key('members'), 'layout'), layout);
});

test('whatever happens in whatever order, both readers see what the hash says', async (t) => {
  const { redis, one, other } = await rig(t);
  const process = fc.integer({ min: 1, max: 4 }).map((number) => `p${number}`);
  let renewals = 0;
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('renew'), process, leaving: fc.boolean() }) },
    fc.record({ kind: fc.constantFrom('remove', 'release', 'publish'), process }),
    fc.record({ kind: fc.constantFrom('flush', 'evict', 'old', 'old gone', 'minute') }),
  );
  const act = async (store: MemberStore, taken: Record<string, unknown>): Promise<void> => {
    const name = String(taken['process']);
    renewals += 1;
    const { generation, leases, view } = await truth(redis);
    switch (taken['kind']) {
      case 'renew':
        await store.renew(lease(name, renewals, { leaving: taken['leaving'] === true }), undefined);
        return;
      case 'remove': {
        const count = leases.find(({ member: of }) => of.process === name)?.renewals ?? 0;
        const request = { generation, process: processId(name), renewals: count, voter: processId('v') };
        await store.remove({ ...request, votesNeeded: 1, voteMs: 60_000, silenceMs: 0 });
        return;
      }
      case 'release':
        await store.release({ process: processId(name), promisedMs: renewals });
        return;
      case 'publish': {
        const next = makeView(viewNumber((view?.number ?? 0) + 1), [member(name)]);
        await store.publish(next, { generation, follows: undefined });
        return;
      }
      case 'flush':
        await redis.flushall();
        await store.snapshot();
        return;
      case 'evict':
        await redis.del(key('packed'));
        return;
      case 'old':
        await writeUnpacked(redis, renewals);
        return;
      case 'old gone':
        await redis.hdel(key('members'), 'lease:old');
        return;
      default:
        if ((await redis.hexists(key('members'), 'unpacked-seen')) === 1)
          await redis.hincrby(key('members'), 'unpacked-seen', -unpackedMs);
    }
  };
  await one.snapshot();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.boolean(), step), { minLength: 10, maxLength: 30 }),
      async (steps) => {
        for (const [isFirst, taken] of steps) {
          await act(isFirst ? one : other, taken);
          for (const store of [one, other]) {
            const seen = comparable(await store.snapshot());
            t.deepEqual(seen, comparable(await truth(redis)), JSON.stringify(taken));
          }
        }
      },
    ),
    { numRuns: 12 },
  );
});

test('processes of the version before are seen at once, and until a minute after the last all is read whole', async (t) => {
  const { redis, one } = await rig(t);
  await one.renew(lease('p1', 1), undefined);
  const countOf = async (name: string): Promise<number | undefined> =>
    (await one.snapshot()).leases.find(({ member: of }) => of.process === name)?.renewals;
  t.is(await countOf('p1'), 1);
  for (const renewals of [1, 2, 3]) {
    await writeUnpacked(redis, renewals);
    t.is(await countOf('old'), renewals);
    t.is(await redis.hget(key('members'), 'layout'), null);
  }
  await redis.hdel(key('members'), 'lease:old');
  // A process that does not know yet that its lease was removed may still publish a view.
  const view = makeView(viewNumber(9), [member('p1')]);
  t.is((await one.snapshot()).view, undefined);
  await redis.hset(key('members'), 'view', `${view.number} ${view.hash} ${JSON.stringify(view.members)}`);
  t.is((await one.snapshot()).view?.number, view.number);
  t.is(await redis.hget(key('members'), 'layout'), null);
  await redis.hincrby(key('members'), 'unpacked-seen', -unpackedMs);
  await one.snapshot();
  t.truthy(await redis.hget(key('members'), 'layout'));
});
