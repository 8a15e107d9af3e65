import test from 'ava';
import { Redis } from 'ioredis';
import { PrivateRedis, sharedRedisUrl } from '../../support/servers/redis.js';

test('The shared Redis answers and keeps a key', async (t) => {
  const redis = new Redis(await sharedRedisUrl());
  t.teardown(() => redis.disconnect());
  const key = `test:${process.pid}:${process.hrtime.bigint()}`;
  await redis.set(key, 'kept', 'PX', 10_000);
  t.is(await redis.get(key), 'kept');
});

test('A private Redis without persistence loses all data after a kill and restart', async (t) => {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  await server.command((redis) => redis.set('a', '1'));
  await server.kill();
  await t.throwsAsync(() => server.command((redis) => redis.get('a')));
  await server.restart();
  t.is(await server.command((redis) => redis.get('a')), null);
});

test('A private Redis with persistence keeps its keys after kill -9, and loses them when flushed', async (t) => {
  const server = await PrivateRedis.start({ persist: true });
  t.teardown(() => server.stop());
  await server.command((redis) => redis.set('a', '1'));
  await server.restart();
  t.is(await server.command((redis) => redis.get('a')), '1');
  await server.flush();
  t.is(await server.command((redis) => redis.get('a')), null);
});

test('A frozen Redis answers only after it thaws', async (t) => {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  const redis = new Redis(server.url);
  t.teardown(() => redis.disconnect());
  await redis.ping();
  server.freeze();
  const impatient = new Redis(server.url, {
    commandTimeout: 200,
    retryStrategy: null,
    enableReadyCheck: false,
  });
  t.teardown(() => impatient.disconnect());
  const answer = redis.ping();
  await t.throwsAsync(() => impatient.ping(), { message: /timed out/ });
  server.thaw();
  t.is(await answer, 'PONG');
});

test('A private Redis can be a cluster of one node, which takes every key', async (t) => {
  const server = await PrivateRedis.start({ cluster: true });
  t.teardown(() => server.stop());
  await server.command(async (redis) => {
    await redis.set('a', '1');
    await redis.set('b', '2');
    t.is(await redis.get('b'), '2');
  });
});
