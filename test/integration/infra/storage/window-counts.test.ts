// The script that keeps the counts of nodes, in a single Redis and in a Redis cluster.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { Redis } from 'ioredis';
import { systemTime } from '../../../../cluster/index.js';
import { openSharedValues, type WindowsOfOthers } from '../../../../src/infra/storage/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { PrivateRedis, sharedRedisUrl } from '../../../support/servers/redis.js';

function open(t: { teardown(fn: () => void): void }, redisUrl: string) {
  const values = openSharedValues({
    redisUrl,
    time: systemTime,
    onProblem: () => undefined,
    newId: randomUUID,
    answerMsMax: 20_000,
  });
  t.teardown(() => values.close());
  return values;
}

for (const kind of ['single', 'cluster'] as const) {
  test(`each node reads the counts of the others, and a repeated report counts once (${kind})`, async (t) => {
    let url = await sharedRedisUrl();
    if (kind === 'cluster') {
      const server = await PrivateRedis.start({ cluster: true });
      t.teardown(() => server.kill());
      url = `redis+cluster://${server.host}:${server.port}`;
    }
    const values = open(t, url);
    const installation = randomUUID();
    const exchange = (process: string, counted: Parameters<typeof values.exchangeWindows>[1]) =>
      values.exchangeWindows({ installation, process }, counted);
    const hello = await eventually(() => exchange('one', []));
    t.deepEqual(hello, { nodes: 1, windows: [] });
    const own = { name: 'x', agesMs: [1_500, 20], counts: [7, 3] };
    t.deepEqual(await exchange('one', [own]), { nodes: 1, windows: [{ agesMs: [], counts: [] }] });
    await exchange('one', [own]);
    const answer = await exchange('two', [
      { name: 'y', agesMs: [], counts: [] },
      { name: 'x', agesMs: [0], counts: [40] },
    ]);
    const { nodes, windows } = answer as WindowsOfOthers;
    t.is(nodes, 2);
    t.deepEqual(windows[0], { agesMs: [], counts: [] });
    t.deepEqual(windows[1]?.counts, [7, 3]);
    const [older = 0, newer = 0] = windows[1]?.agesMs ?? [];
    t.true(older >= 1_500 && older < 60_000 && older - newer === 1_480);
    const back = await exchange('one', [own]);
    t.deepEqual(back?.windows[0]?.counts, [40]);
    const another = { installation: randomUUID(), process: 'one' };
    t.deepEqual((await values.exchangeWindows(another, [own]))?.windows[0]?.counts, []);
  });
}

test('what was reported by a clock that was ahead of that of Redis counts no more', async (t) => {
  const url = await sharedRedisUrl();
  const values = open(t, url);
  const redis = new Redis(url);
  t.teardown(() => redis.disconnect());
  const installation = randomUUID();
  const exchange = () =>
    values.exchangeWindows({ installation, process: 'one' }, [{ name: 'x', agesMs: [], counts: [] }]);
  t.is((await eventually(exchange))?.nodes, 1);
  const nowMs = async (): Promise<number> => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  };
  const report = async (process: string, atMs: number): Promise<void> => {
    await redis.zadd(`{troupe-windows-${installation}}:nodes`, atMs, process);
    await redis.hset(`{troupe-windows-${installation}}:x`, process, `${atMs} 0,5`);
  };
  await report('before', (await nowMs()) + 600_000);
  await report('another', await nowMs());
  const answer = await exchange();
  t.deepEqual(answer?.windows[0]?.counts, [5], 'only that of the other node');
  t.is(answer?.nodes, 2);
  t.is(await redis.hlen(`{troupe-windows-${installation}}:x`), 2);
});

test('without Redis the answer is missing at once', async (t) => {
  const values = open(t, 'redis://127.0.0.1:1');
  t.is(await values.exchangeWindows({ installation: 'i', process: 'p' }, []), undefined);
});
