// Durable intake of signed webhooks, compared with a bare handler with the same check and no store, a group commit by
// hand, and one insert per request: `npm run bench:webhooks`. Each server and its database share one core; accepts per
// second are compared pair by pair within a round. `npm run bench:webhooks -- windows` measures buffers instead, and
// `npm run bench:webhooks -- hot-tenant` the effect of a tenant that sends too much on another.
import { load, percentile } from '../support/load.js';
import { record } from '../support/results.js';
import { type BenchServer, median, pinLoad, startServer } from '../support/servers.js';
import { measureHotTenant } from './hot-tenant.js';
import { requestsOf } from './request.js';
import { measureWindows } from './windows.js';

const warmConnections = 64;
const warmSeconds = 5;

if (process.argv[2] === 'windows') await measureWindows(Number(process.argv[3] ?? 100_000));
else if (process.argv[2] === 'hot-tenant') await measureHotTenant(Number(process.argv[3] ?? 3));
else await measureAccepts(Number(process.argv[2] ?? 3), Number(process.argv[3] ?? 3));

async function measureAccepts(rounds: number, seconds: number): Promise<void> {
  pinLoad();
  for (const connections of [64, 1]) await measureWith(connections, rounds, seconds);
}

interface Figure {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuMicros: number;
  readonly databaseMicros: number;
}

/** Starts its own servers: otherwise buffers of an earlier load would end after a minute, and their turns be measured. */
async function measureWith(connections: number, rounds: number, seconds: number): Promise<void> {
  const servers = [
    await startServer('troupe', './troupe.server.js', import.meta.url),
    await startServer('bare, no store', './bare.server.js', import.meta.url),
    await startServer('grouped by hand', './grouped.server.js', import.meta.url),
    await startServer('one insert each', './single.server.js', import.meta.url),
  ];
  const figures = new Map(servers.map(({ name }) => [name, [] as Figure[]]));
  // Until they run as after hours of use: for the first ten thousand messages half the time is compilation.
  for (const server of servers) await measure(server, warmConnections, warmSeconds);
  for (let round = 0; round < rounds; round += 1) {
    for (const server of servers) {
      figures.get(server.name)?.push(await measure(server, connections, seconds));
    }
  }
  await Promise.all(servers.map((server) => server.stop()));
  console.log(
    `\n${rounds} rounds of ${seconds} s, ${connections} connections, 450 signed bytes (median [min–max])`,
  );
  for (const [name, all] of figures) {
    const of = (which: keyof Figure): number[] => all.map((one) => one[which]);
    console.log(
      `  ${name.padEnd(16)} ${span(of('perSecond'), 0)} accepts/s, p50 ${median(of('p50')).toFixed(2)} ms, p99 ${median(of('p99')).toFixed(2)} ms, ` +
        `CPU per message ${median(of('cpuMicros')).toFixed(0)} µs and ${median(of('databaseMicros')).toFixed(0)} µs of PostgreSQL`,
    );
  }
  const own = figures.get('troupe') ?? [];
  for (const [name, others] of figures) {
    if (name === 'troupe') continue;
    const ratios = own.map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN));
    const latency = (of: readonly Figure[]) => ({
      p50Ms: median(of.map(({ p50 }) => p50)),
      p99Ms: median(of.map(({ p99 }) => p99)),
    });
    record({
      bench: 'webhooks',
      what: `durable accept of a signed webhook, ${connections} at once`,
      unit: 'accepts per second',
      ours: own.map(({ perSecond }) => perSecond),
      against: name === 'bare, no store' ? 'a handler without a store' : name,
      theirs: others.map(({ perSecond }) => perSecond),
      better: 'more',
      ourLatency: latency(own),
      theirLatency: latency(others),
    });
    console.log(`  troupe / ${name}: ${span(ratios, 2)}`);
  }
}

async function measure(server: BenchServer, connections: number, duration: number): Promise<Figure> {
  const { path = '', secret = '' } = server.facts;
  const before = [await server.cpuSeconds(), server.cpuSecondsBelow()] as const;
  const loads = await Promise.all(
    Array.from({ length: connections }, (_, sender) =>
      load({
        port: server.port,
        request: requestsOf(path, secret, sender, connections),
        connections: 1,
        seconds: duration,
        expectedStatus: 202,
      }),
    ),
  );
  const unexpected = loads.reduce((sum, one) => sum + one.unexpected, 0);
  if (unexpected > 0) throw new Error(`${server.name}: ${unexpected} answers were not 202`);
  const requests = loads.reduce((sum, one) => sum + one.requests, 0);
  const after = [await server.cpuSeconds(), server.cpuSecondsBelow()] as const;
  return {
    perSecond: requests / Math.max(...loads.map((one) => one.seconds)),
    p50: median(loads.map((one) => percentile(one.latenciesMs, 0.5))),
    p99: percentile(Float64Array.from(loads.flatMap((one) => [...one.latenciesMs])).sort(), 0.99),
    cpuMicros: ((after[0] - before[0]) / requests) * 1e6,
    databaseMicros: ((after[1] - before[1]) / requests) * 1e6,
  };
}

function span(values: readonly number[], digits: number): string {
  const shown = (value: number): string => value.toFixed(digits);
  return `${shown(median(values))} [${shown(Math.min(...values))}–${shown(Math.max(...values))}]`;
}
