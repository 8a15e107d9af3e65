import test from 'ava';
import { Redis } from 'ioredis';
import { clusterConfig } from '../../../../cluster/config.js';
import { viewNumber } from '../../../../cluster/ids/ids.js';
import { openRedisMembers } from '../../../../cluster/membership/redis/member-store.js';
import { emptyView, makeView } from '../../../../cluster/membership/view.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { lease, left, member } from '../../../contracts/member-store.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { sharedRedisUrl } from '../../../support/servers/redis.js';

/** Redis is always up; commands may be delayed for seconds by a busy machine. */
const config = clusterConfig({
  memberStoreTimeoutMs: 20_000,
  leaseMs: 100_000,
  leaseActMs: 90_000,
  leaseAdmitMs: 80_000,
});

test('Redis: a mere renewal causes no hint', async (t) => {
  const url = await sharedRedisUrl();
  const cluster = systemRandom.id();
  const store = await openRedisMembers({ url, cluster, config, random: systemRandom, time: systemTime });
  t.teardown(() => store.close());
  const redis = new Redis(url);
  t.teardown(async () => {
    await redis.del(`{troupe:${cluster}}:members`, `{troupe:${cluster}}:packed`);
    redis.disconnect();
  });
  const listening = new Redis(url);
  t.teardown(() => listening.disconnect());
  const causes: string[] = [];
  listening.on('message', (_channel, cause: string) => causes.push(cause));
  await listening.subscribe(`{troupe:${cluster}}:changed`);
  const { generation } = await store.renew(lease('p1', 1), undefined);
  await store.renew(lease('p1', 2), generation);
  t.true(await store.publish(makeView(viewNumber(1), [member('p1')]), { generation, follows: emptyView }));
  await store.renew(lease('p1', 3), generation);
  await store.release(left('p1'));
  await store.renew(lease('p2', 1), undefined);
  await store.renew(lease('p2', 2), generation);
  await store.renew(lease('p3', 1), undefined);
  // Hints come in their order: after the last one, none is on its way.
  await eventually(() => causes.includes('p3'), { what: 'the hint for the last lease' });
  t.deepEqual(causes, ['p1', 'view', 'p1', 'p2', 'p3']);
});
