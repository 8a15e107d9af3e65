import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { examineRedis } from '../../../../src/infra/storage/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { PrivateRedis } from '../../../support/servers/redis.js';

test('the facts of Redis tell whether it refuses writes that no replica receives, also through a sentinel', async (t) => {
  t.timeout(120_000);
  const master = await PrivateRedis.start();
  t.teardown(() => master.stop());
  t.like(await examineRedis(master.url, systemTime), {
    replicas: 0,
    needsReplicas: false,
    evictionPolicy: 'noeviction',
  });
  const replica = await PrivateRedis.start({ replicaOf: master });
  t.teardown(() => replica.stop());
  const sentinel = await PrivateRedis.start({ sentinelOf: master });
  t.teardown(() => sentinel.stop());
  const isFollowed = async (): Promise<boolean> =>
    (await examineRedis(master.url, systemTime)).replicas === 1;
  await eventually(isFollowed, { timeoutMs: 20_000, what: 'the replica follows' });
  const url = `redis+sentinel://127.0.0.1:${sentinel.port}/troupe`;
  t.like(await examineRedis(url, systemTime), { replicas: 1, needsReplicas: false });
  await master.command((redis) => redis.config('SET', 'min-replicas-to-write', '1'));
  t.like(await examineRedis(url, systemTime), { replicas: 1, needsReplicas: true });
});

test('a Redis that does not answer is reported with the reason', async (t) => {
  await t.throwsAsync(examineRedis('redis://127.0.0.1:1', systemTime), {
    message: /does not respond: .*ECONNREFUSED/,
  });
});
