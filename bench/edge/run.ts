// An authenticated JSON call of the platform, compared with the same work in a bare uWebSockets.js handler and in
// fastify: `npm run bench:edge`. It compares requests per CPU second of the server, pair by pair, so that the load
// generator and other processes on the machine do not affect the ratios.
import { load, percentile } from '../support/load.js';
import { record } from '../support/results.js';
import { type BenchServer, median, pinLoad, startServer } from '../support/servers.js';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 3);

pinLoad();
const servers = [
  await startServer('troupe', './troupe.server.js', import.meta.url),
  await startServer('bare uWebSockets.js', './bare.server.js', import.meta.url),
  await startServer('fastify', './fastify.server.js', import.meta.url),
];

interface Figures {
  readonly perCpuSecond: number[];
  readonly perSecond: number[];
  readonly p50: number[];
  readonly p99: number[];
}

const figures = new Map<string, Figures>();
for (const server of servers) {
  figures.set(server.name, { perCpuSecond: [], perSecond: [], p50: [], p99: [] });
}

for (let round = -1; round < rounds; round += 1) {
  for (const server of servers) {
    const { perCpuSecond, perSecond, p50, p99 } = await measure(server, round < 0 ? 1 : seconds);
    if (round < 0) continue;
    const kept = figures.get(server.name);
    kept?.perCpuSecond.push(perCpuSecond);
    kept?.perSecond.push(perSecond);
    kept?.p50.push(p50);
    kept?.p99.push(p99);
  }
}

console.log(
  `\n${rounds} rounds of ${seconds} s, 64 connections, GET /api/quota with an API key (median [min–max])`,
);
for (const [name, { perCpuSecond, perSecond, p50, p99 }] of figures) {
  console.log(
    `  ${name.padEnd(20)} ${span(perCpuSecond)} requests per CPU second, ${median(perSecond).toFixed(0)} requests/s, p50 ${median(p50).toFixed(2)} ms, p99 ${median(p99).toFixed(2)} ms`,
  );
}
const troupe = figures.get('troupe');
const own = troupe?.perCpuSecond ?? [];
for (const [other, aim] of [
  ['bare uWebSockets.js', 0.5],
  ['fastify', 1.5],
] as const) {
  const ratios = own.map((value, round) => value / (figures.get(other)?.perCpuSecond[round] ?? Number.NaN));
  const theirs = figures.get(other);
  record({
    bench: 'edge',
    what: 'authenticated GET',
    unit: 'requests per CPU second',
    ours: own,
    against: other,
    theirs: theirs?.perCpuSecond ?? [],
    better: 'more',
    ourLatency: { p50Ms: median(troupe?.p50 ?? []), p99Ms: median(troupe?.p99 ?? []) },
    theirLatency: { p50Ms: median(theirs?.p50 ?? []), p99Ms: median(theirs?.p99 ?? []) },
    aim,
  });
  console.log(
    `  troupe / ${other}: ${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}], aim ${aim}`,
  );
}
await Promise.all(servers.map((server) => server.stop()));

async function measure(server: BenchServer, duration: number) {
  const request = `GET /api/quota HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${server.facts['key'] ?? ''}\r\n\r\n`;
  const before = await server.cpuSeconds();
  const result = await load({
    port: server.port,
    request,
    connections: 64,
    seconds: duration,
    expectedStatus: 200,
  });
  const cpu = (await server.cpuSeconds()) - before;
  if (result.unexpected > 0) throw new Error(`${server.name}: ${result.unexpected} answers were not 200`);
  return {
    perCpuSecond: result.requests / cpu,
    perSecond: result.requests / result.seconds,
    p50: percentile(result.latenciesMs, 0.5),
    p99: percentile(result.latenciesMs, 0.99),
  };
}

function span(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(0)} [${low.toFixed(0)}–${high.toFixed(0)}]`;
}
