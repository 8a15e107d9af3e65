import test, { type ExecutionContext } from 'ava';
import { ClusterError } from '../../../cluster/errors.js';
import { clusterConfig } from '../../../cluster/config.js';
import { openRedisMembers } from '../../../cluster/membership/redis/member-store.js';
import { systemRandom, systemTime } from '../../../cluster/time/system.js';
import { lease, member } from '../../contracts/member-store.js';
import { openClusteredNode } from '../../../cluster/node/clustered-node.js';
import { databaseOfFile } from '../../support/database/database.js';
import { freePort } from '../../support/servers/free-port.js';
import { PrivateRedis } from '../../support/servers/redis.js';

const database = databaseOfFile(test);

async function refused(t: ExecutionContext, redisUrl: string, databaseUrl: string) {
  const port = await freePort();
  const node = { cluster: 'start', secret: 'secret', host: '127.0.0.1', port, roles: ['worker'] as const };
  const opening = openClusteredNode({ ...node, redisUrl, databaseUrl, kinds: [] });
  return t.throwsAsync(opening, { instanceOf: ClusterError });
}

test('the start fails with an error that names Redis if Redis cannot be reached', async (t) => {
  const error = await refused(t, `redis://127.0.0.1:${await freePort()}`, database.url);
  t.is(error?.tag, 'membership_unavailable');
  t.regex(error?.message ?? '', /Redis/);
});

test('the start fails with an error that names PostgreSQL if it cannot be reached', async (t) => {
  const redis = await PrivateRedis.start({ persist: false });
  t.teardown(() => redis.stop());
  const error = await refused(t, redis.url, `postgres://nobody@127.0.0.1:${await freePort()}/nothing`);
  t.is(error?.tag, 'store_unavailable');
  t.regex(error?.message ?? '', /PostgreSQL/);
});

test('a node does not join running nodes of a release too far away, and leaves no lease behind', async (t) => {
  const redis = await PrivateRedis.start({ persist: false });
  t.teardown(() => redis.stop());
  // Redis is always up here, and a stalled machine may delay a command for seconds.
  const config = clusterConfig({
    memberStoreTimeoutMs: 20_000,
    leaseMs: 100_000,
    leaseActMs: 90_000,
    leaseAdmitMs: 80_000,
  });
  const parts = { url: redis.url, cluster: 'start', config, random: systemRandom, time: systemTime };
  const later = await openRedisMembers(parts);
  let renewals = 0;
  const protocols = { min: 8, max: 9 };
  const renew = async (): Promise<void> => {
    renewals += 1;
    await later.renew(
      { ...lease('later', renewals), member: { ...member('later'), version: '0.9.0', protocols } },
      undefined,
    );
  };
  await renew();
  let renewing = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renewing.then(renew);
  }, 200);
  t.teardown(async () => {
    clearInterval(timer);
    await renewing;
    await later.close();
  });
  const error = await refused(t, redis.url, database.url);
  t.is(error?.tag, 'protocol_mismatch');
  t.regex(error?.message ?? '', /later is running and speaks protocol 8 to 9 \(version 0\.9\.0\)/);
  t.deepEqual(
    (await later.snapshot()).leases.map((one) => one.member.process),
    [member('later').process],
  );
});
