// Accepting signed webhooks durably, beside a bare handler with the same check and no store, group commit by hand, and
// one insert for each request: `npm run bench:webhooks`. Each server has one core with its database; accepts per second
// are compared pair by pair within a round. `npm run bench:webhooks -- windows` measures buffers instead, and
// `npm run bench:webhooks -- hot-tenant` what a tenant that sends too much does to another.
import { load, percentile } from '../support/load.js';
import { type BenchServer, median, pinLoad, startServer } from '../support/servers.js';
import { measureHotTenant } from './hot-tenant.js';
import { requestsOf } from './request.js';
import { measureWindows } from './windows.js';

if (process.argv[2] === 'windows') await measureWindows(Number(process.argv[3] ?? 100_000));
else if (process.argv[2] === 'hot-tenant') await measureHotTenant(Number(process.argv[3] ?? 3));
else await measureAccepts(Number(process.argv[2] ?? 3), Number(process.argv[3] ?? 3));

async function measureAccepts(rounds: number, seconds: number): Promise<void> {
  pinLoad();
  const servers = [
    await startServer('troupe', './troupe.server.js', import.meta.url),
    await startServer('bare, no store', './bare.server.js', import.meta.url),
    await startServer('grouped by hand', './grouped.server.js', import.meta.url),
    await startServer('one insert each', './single.server.js', import.meta.url),
  ];

  for (const connections of [64, 1]) {
    const figures = new Map(servers.map(({ name }) => [name, [] as { perSecond: number; p50: number }[]]));
    for (let round = -1; round < rounds; round += 1) {
      for (const server of servers) {
        const figure = await measure(server, connections, round < 0 ? 1 : seconds);
        if (round >= 0) figures.get(server.name)?.push(figure);
      }
    }
    console.log(
      `\n${rounds} rounds of ${seconds} s, ${connections} connections, 450 bytes signed (median [min–max])`,
    );
    for (const [name, all] of figures) {
      const perSecond = all.map((one) => one.perSecond);
      console.log(
        `  ${name.padEnd(16)} ${span(perSecond, 0)} accepts/s, p50 ${median(all.map(({ p50 }) => p50)).toFixed(2)} ms`,
      );
    }
    const own = figures.get('troupe') ?? [];
    for (const [name, others] of figures) {
      if (name === 'troupe') continue;
      const ratios = own.map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN));
      console.log(`  troupe / ${name}: ${span(ratios, 2)}`);
    }
  }
  await Promise.all(servers.map((server) => server.stop()));
}

async function measure(server: BenchServer, connections: number, duration: number) {
  const { path = '', secret = '' } = server.facts;
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
  return {
    perSecond: requests / Math.max(...loads.map((one) => one.seconds)),
    p50: median(loads.map((one) => percentile(one.latenciesMs, 0.5))),
  };
}

function span(values: readonly number[], digits: number): string {
  const shown = (value: number): string => value.toFixed(digits);
  return `${shown(median(values))} [${shown(Math.min(...values))}–${shown(Math.max(...values))}]`;
}
