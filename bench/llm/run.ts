// The way of a model call through the platform's translation, beside a bare proxy of the same parts (uWebSockets.js in
// front, undici behind) that passes bytes on: `npm run bench:llm`. The vendor is part of the load's process and answers
// at once. Calls and chunks per CPU second of the server are compared, round by round.
import { load, percentile } from '../support/load.js';
import { type BenchServer, median, pinLoad, startServer } from '../support/servers.js';
import { chunksPerStream, startVendor } from './vendor.js';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 3);

pinLoad();
process.env['BENCH_VENDOR'] = `http://127.0.0.1:${await startVendor()}`;
const calls = await startServer('calls', './calls.server.js', import.meta.url);
const bare = await startServer('bare proxy', './bare.server.js', import.meta.url);

const body = (stream: boolean): string =>
  JSON.stringify({
    model: 'gpt-4.1-mini',
    messages: [{ role: 'user', content: 'Say hello to the world, please.' }],
    temperature: 0.7,
    ...(stream && { stream: true }),
  });

await compare('whole answers, 32 at once', false, 32, 1, 'calls');
await compare('streams of 50 chunks in a burst, 32 at once', true, 32, chunksPerStream, 'chunks');
await compare('whole answers, one at a time', false, 1, 1, 'calls');
await Promise.all([calls.stop(), bare.stop()]);
process.exit(0);

async function compare(
  title: string,
  stream: boolean,
  connections: number,
  unitsPerCall: number,
  unit: string,
): Promise<void> {
  const own: Measured[] = [];
  const other: Measured[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const duration = round < 0 ? 1 : seconds;
    const pair = [
      await measure(calls, stream, connections, duration),
      await measure(bare, stream, connections, duration),
    ] as const;
    if (round < 0) continue;
    own.push(pair[0]);
    other.push(pair[1]);
  }
  console.log(`\n${title}: ${rounds} rounds of ${seconds} s (median [min–max])`);
  for (const [name, measured] of [
    ['calls', own],
    ['bare proxy', other],
  ] as const) {
    const rates = measured.map(({ perCpuSecond }) => perCpuSecond * unitsPerCall);
    const p50 = median(measured.map((each) => each.p50Ms));
    console.log(`  ${name.padEnd(12)} ${span(rates, 0)} ${unit} per CPU second, p50 ${p50.toFixed(3)} ms`);
  }
  const ratios = own.map(({ perCpuSecond }, at) => perCpuSecond / (other[at]?.perCpuSecond ?? Number.NaN));
  console.log(`  calls / bare proxy: ${span(ratios, 2)}`);
}

interface Measured {
  readonly perCpuSecond: number;
  readonly p50Ms: number;
}

async function measure(
  server: BenchServer,
  stream: boolean,
  connections: number,
  duration: number,
): Promise<Measured> {
  const sent = body(stream);
  const request = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(sent)}`,
    '',
    sent,
  ].join('\r\n');
  const before = await server.cpuSeconds();
  const result = await load({
    port: server.port,
    request,
    connections,
    seconds: duration,
    expectedStatus: 200,
  });
  const cpu = (await server.cpuSeconds()) - before;
  if (result.unexpected > 0) throw new Error(`${server.name}: ${result.unexpected} answers were not 200`);
  return { perCpuSecond: result.requests / cpu, p50Ms: percentile(result.latenciesMs, 0.5) };
}

function span(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} [${low.toFixed(digits)}–${high.toFixed(digits)}]`;
}
