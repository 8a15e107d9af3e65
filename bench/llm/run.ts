// Model calls through the whole platform (keys, limits, quota, ledger, telemetry), compared with Portkey's gateway with
// all features off and with a bare proxy of the same parts (uWebSockets.js and undici) that passes bytes on. The vendor
// runs in the load's process and answers at once. The servers have one core; the load, the vendor and PostgreSQL share
// the other. Rounds alternate and are compared pair by pair.
//
//   npm run bench:llm                        calls, streams in bursts, one at a time, and paced streams
//   npm run bench:llm -- calls 5 3           number of rounds and seconds per round
//   npm run bench:llm -- paced 10            seconds per load
//   npm run bench:llm -- memory 1000000      resident memory after a tenth of the calls, and after all
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { load, percentile } from '../support/load.js';
import { record } from '../support/results.js';
import { type BenchServer, median, pinLoad, startServer } from '../support/servers.js';
import { pacedStreams, report, shareLate } from './paced.js';
import { chunksPerStream, startVendor } from './vendor.js';

/** Until the code is compiled as after a day of use; the platform has more code than a proxy. */
const warmSeconds = 10;

const [what = 'all', ...numbers] = process.argv.slice(2);
pinLoad();
const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-llm-'));
const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: true });
const vendor = await startVendor();
const vendorUrl = `http://127.0.0.1:${vendor.port}`;
process.env['BENCH_VENDOR'] = vendorUrl;
process.env['BENCH_DATABASE'] = postgres.connectionString;

const troupe = await startServer('Troupe', './troupe.server.js', import.meta.url);
const servers = [troupe];
if (what !== 'memory') {
  servers.push(await startServer('Portkey', './portkey.server.js', import.meta.url));
  servers.push(await startServer('bare proxy', './bare.server.js', import.meta.url));
}
if (what === 'all' || what === 'calls') await calls(Number(numbers[0] ?? 5), Number(numbers[1] ?? 3));
if (what === 'all' || what === 'paced') await paced(Number(numbers[0] ?? 10));
if (what === 'memory') await memory(Number(numbers[0] ?? 1_000_000));
for (const server of servers) await server.stop();
await postgres.stop();
await rm(directory, { recursive: true, force: true });
process.exit(0);

async function calls(rounds: number, seconds: number): Promise<void> {
  const plans = [
    { title: 'whole answers, 32 at once', stream: false, connections: 32, units: 1, unit: 'calls' },
    {
      title: `streams of ${chunksPerStream} chunks in a burst, 32 at once`,
      stream: true,
      connections: 32,
      units: chunksPerStream,
      unit: 'chunks',
    },
    { title: 'whole answers, one at a time', stream: false, connections: 1, units: 1, unit: 'calls' },
  ];
  for (const plan of plans) {
    const measured = new Map<BenchServer, Measured[]>(servers.map((server) => [server, []]));
    const direct: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      for (const server of servers) {
        const result = await measure(
          server,
          plan.stream,
          plan.connections,
          round < 0 ? warmSeconds : seconds,
        );
        if (round >= 0) measured.get(server)?.push(result);
      }
      if (plan.connections === 1) direct.push(await directP50Ms());
    }
    console.log(`\n${plan.title}: ${rounds} rounds of ${seconds} s (median [min–max])`);
    for (const [{ name }, rows] of measured) {
      const perCpu = span(rows.map(({ perCpuSecond }) => perCpuSecond * plan.units));
      const perSecond = span(rows.map((each) => each.perSecond * plan.units));
      const p50 = median(rows.map(({ p50Ms }) => p50Ms));
      const p99 = median(rows.map(({ p99Ms }) => p99Ms));
      const added =
        direct.length === 0 ? '' : `, of which the server adds ${(p50 - median(direct)).toFixed(3)}`;
      console.log(
        `  ${name.padEnd(12)} ${perSecond} ${plan.unit}/s, ${perCpu} per CPU second, p50 ${p50.toFixed(3)} ms${added}, p99 ${p99.toFixed(3)} ms`,
      );
    }
    const own = measured.get(troupe) ?? [];
    for (const [{ name }, rows] of measured) {
      if (rows === own) continue;
      const ratio = (of: (each: Measured) => number): string =>
        span(
          own.map((each, at) => of(each) / (rows[at] === undefined ? Number.NaN : of(rows[at]))),
          2,
        );
      const latency = (of: readonly Measured[]) => ({
        p50Ms: median(of.map(({ p50Ms }) => p50Ms)),
        p99Ms: median(of.map(({ p99Ms }) => p99Ms)),
      });
      const shared = {
        bench: 'llm',
        what: plan.title,
        against: name,
        better: 'more' as const,
        ourLatency: latency(own),
        theirLatency: latency(rows),
      };
      record({
        ...shared,
        unit: `${plan.unit} per CPU second of the gateway`,
        ours: own.map((each) => each.perCpuSecond * plan.units),
        theirs: rows.map((each) => each.perCpuSecond * plan.units),
      });
      record({
        ...shared,
        unit: `${plan.unit} per second`,
        ours: own.map((each) => each.perSecond * plan.units),
        theirs: rows.map((each) => each.perSecond * plan.units),
      });
      console.log(
        `  Troupe / ${name}: ${ratio((each) => each.perCpuSecond)} per CPU second, ${ratio((each) => each.perSecond)} per second`,
      );
    }
  }
}

async function paced(seconds: number): Promise<void> {
  for (const { streams, everyMs } of [
    { streams: 256, everyMs: 5 },
    { streams: 512, everyMs: 20 },
  ]) {
    console.log(`\n${streams} streams with a chunk every ${everyMs} ms, ${seconds} s`);
    for (const server of servers) {
      const plan = { streams, everyMs, seconds, request: requestTo(server, true) };
      const result = await pacedStreams(server, vendor, plan);
      console.log(report(server.name, result));
      console.log(`${' '.repeat(15)}${shareLate(result, 20)} chunks more than 20 ms late`);
    }
  }
}

async function memory(count: number): Promise<void> {
  console.log('\nresident memory of the platform');
  const marks = [count / 10, count];
  let done = 0;
  for (const mark of marks) {
    const [cpuBefore, doneBefore] = [await troupe.cpuSeconds(), done];
    while (done < mark) {
      for (const stream of [false, true]) {
        const { requests } = await load({
          port: troupe.port,
          request: requestTo(troupe, stream),
          connections: 64,
          seconds: 5,
          expectedStatus: 200,
        });
        done += requests;
      }
    }
    const megabytes = ((await troupe.residentBytes()) / 1e6).toFixed(1);
    const micros = (((await troupe.cpuSeconds()) - cpuBefore) / (done - doneBefore)) * 1e6;
    console.log(
      `  after ${done} calls: ${megabytes} MB, ${micros.toFixed(0)} µs of CPU per call since the last line`,
    );
  }
}

interface Measured {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function measure(
  server: BenchServer,
  stream: boolean,
  connections: number,
  seconds: number,
): Promise<Measured> {
  const before = await server.cpuSeconds();
  const result = await load({
    port: server.port,
    request: requestTo(server, stream),
    connections,
    seconds,
    expectedStatus: 200,
  });
  const cpu = (await server.cpuSeconds()) - before;
  if (result.unexpected > 0) throw new Error(`${server.name}: ${result.unexpected} answers were not 200`);
  return {
    perSecond: result.requests / result.seconds,
    perCpuSecond: result.requests / cpu,
    p50Ms: percentile(result.latenciesMs, 0.5),
    p99Ms: percentile(result.latenciesMs, 0.99),
  };
}

/** Without a server in between: the time of the load and the vendor alone. */
async function directP50Ms(): Promise<number> {
  const request = requestOf([], false);
  const { latenciesMs } = await load({
    port: vendor.port,
    request,
    connections: 1,
    seconds: 1,
    expectedStatus: 200,
  });
  return percentile(latenciesMs, 0.5);
}

function requestTo(server: BenchServer, stream: boolean): string {
  const headers =
    server.name === 'Portkey'
      ? [
          'Authorization: Bearer key-of-the-bench',
          'x-portkey-provider: openai',
          `x-portkey-custom-host: ${vendorUrl}/v1`,
        ]
      : [`Authorization: Bearer ${server.facts['key'] ?? 'none'}`];
  return requestOf(headers, stream);
}

function requestOf(headers: readonly string[], stream: boolean): string {
  const body = JSON.stringify({
    model: 'gpt-4.1-mini',
    messages: [{ role: 'user', content: 'Say hello to the world, please.' }],
    temperature: 0.7,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  });
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: 127.0.0.1',
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

function span(values: readonly number[], digits = 0): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} [${low.toFixed(digits)}–${high.toFixed(digits)}]`;
}
