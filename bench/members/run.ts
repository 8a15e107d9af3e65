// What membership costs Redis by the size of the cluster: renewals and polls of so many processes, with the real scripts,
// as CPU time of the server. Each process does two a second.
//
//   npm run bench:members                    10, 100, 300 and 1,000 processes
//   npm run bench:members -- 10,100 500      reads for each size
import { Redis } from 'ioredis';
import { clusterConfig, openRedisMembers, processId, systemRandom, systemTime } from '../../cluster/index.js';
import { makeView } from '../../cluster/membership/view.js';
import { viewNumber } from '../../cluster/ids/ids.js';
import { PrivateRedis } from '../../test/support/servers/redis.js';
import { record } from '../support/results.js';
import { percentile } from '../support/load.js';

const sizes = (process.argv[2] ?? '10,100,300,1000').split(',').map(Number);
const reads = Number(process.argv[3] ?? 400);
/** A renewal and a poll. */
const readsEachSecond = 2;

const redis = await PrivateRedis.start();
const control = new Redis(redis.url);
for (const size of sizes) await measure(size);
control.disconnect();
await redis.stop();
process.exit(0);

async function measure(size: number): Promise<void> {
  await control.flushall();
  const store = await openRedisMembers({
    url: redis.url,
    cluster: `bench-${size}`,
    config: clusterConfig({ memberStoreTimeoutMs: 1_400 }),
    random: systemRandom,
    time: systemTime,
  });
  const members = Array.from({ length: size }, (_, index) => ({
    process: processId(`troupe-7d9c5b6f4-${index.toString(36).padStart(5, '0')}-19a3b5c7d`),
    address: `10.12.${index >> 8}.${index & 255}:9090`,
    weight: 1,
    roles: ['edge', 'worker'] as const,
    host: `troupe-7d9c5b6f4-${index.toString(36).padStart(5, '0')}`,
    pid: 1,
    version: '0.2.0',
    protocols: { min: 2, max: 3 },
  }));
  let generation: string | undefined;
  const renew = async (index: number, renewals: number) => {
    const member = members[index % size];
    if (member === undefined) throw new Error('no member');
    const lease = { member, renewals, promisedMs: 0, holds: viewNumber(1), leaving: false };
    // A lease that is missing in a known generation was removed, and is not made again.
    const answer = await store.renew(lease, renewals === 1 ? undefined : generation, undefined);
    ({ generation } = answer);
    if (!answer.renewed) throw new Error('a lease was not renewed');
  };
  for (let index = 0; index < size; index += 1) await renew(index, 1);
  const view = makeView(viewNumber(1), members);
  if (generation === undefined || !(await store.publish(view, { generation, follows: undefined })))
    throw new Error('the view was not published');
  const [cpuBefore, bytesBefore] = [await cpuSeconds(), await bytesSent()];
  const taken: number[] = [];
  for (let index = 0; index < reads; index += 1) {
    const startedAt = performance.now();
    if (index % readsEachSecond === 0) await renew(index, 2);
    else await store.snapshot();
    taken.push(performance.now() - startedAt);
  }
  const micros = (((await cpuSeconds()) - cpuBefore) * 1e6) / reads;
  const bytes = ((await bytesSent()) - bytesBefore) / reads;
  await store.close();
  const sorted = Float64Array.from(taken).sort();
  const perSecond = size * readsEachSecond;
  console.log(
    `${String(size).padStart(5)} processes: ${micros.toFixed(0)} µs of Redis and ${(bytes / 1_000).toFixed(1)} KB for each read, ` +
      `p50 ${percentile(sorted, 0.5).toFixed(2)} ms, p99 ${percentile(sorted, 0.99).toFixed(2)} ms; ` +
      `${perSecond} reads/s take ${((micros * perSecond) / 1e4).toFixed(1)} % of a core and ${((bytes * perSecond) / 1e6).toFixed(1)} MB/s`,
  );
  record({
    bench: 'members',
    what: `membership of ${size} processes`,
    unit: '% of a core of Redis',
    ours: [(micros * perSecond) / 1e4],
    better: 'less',
    ourLatency: { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) },
  });
}

async function cpuSeconds(): Promise<number> {
  const info = await control.info('cpu');
  const of = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return of('used_cpu_user') + of('used_cpu_sys');
}

async function bytesSent(): Promise<number> {
  return Number(/total_net_output_bytes:(\d+)/.exec(await control.info('stats'))?.[1]);
}
