// A small tool call over MCP, compared with the same operation over REST and with a bare server of the official package:
// `npm run bench:mcp`. It compares requests per CPU second of the server, pair by pair.
import { load, percentile } from '../support/load.js';
import { record } from '../support/results.js';
import { type BenchServer, median, pinLoad, startServer } from '../support/servers.js';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 3);
const connections = 32;

pinLoad();
const troupe = await startServer('troupe', '../edge/troupe.server.js', import.meta.url);
const bare = await startServer('bare server of the SDK', './sdk.server.js', import.meta.url);

interface Way {
  readonly name: string;
  readonly server: BenchServer;
  readonly request: string;
}

const ways: readonly Way[] = [
  { name: 'tools/call', server: troupe, request: toolCall(troupe) },
  { name: 'REST', server: troupe, request: quotaRead(troupe) },
  { name: bare.name, server: bare, request: toolCall(bare) },
];
const figures = new Map(
  ways.map(({ name }) => [name, { perCpuSecond: [] as number[], p50: [] as number[], p99: [] as number[] }]),
);
for (let round = -1; round < rounds; round += 1) {
  for (const way of ways) {
    const { perCpuSecond, p50, p99 } = await measure(way, round < 0 ? 1 : seconds);
    if (round < 0) continue;
    figures.get(way.name)?.perCpuSecond.push(perCpuSecond);
    figures.get(way.name)?.p50.push(p50);
    figures.get(way.name)?.p99.push(p99);
  }
}

console.log(`\n${rounds} rounds of ${seconds} s, ${connections} connections, get_quota (median [min–max])`);
for (const [name, { perCpuSecond, p50, p99 }] of figures) {
  console.log(
    `  ${name.padEnd(24)} ${span(perCpuSecond, 0)} requests per CPU second, p50 ${median(p50).toFixed(2)} ms, p99 ${median(p99).toFixed(2)} ms`,
  );
}
const calls = figures.get('tools/call');
const own = calls?.perCpuSecond ?? [];
for (const [other, aim] of [
  ['REST', 0.7],
  [bare.name, 2],
] as const) {
  const ratios = own.map((value, round) => value / (figures.get(other)?.perCpuSecond[round] ?? Number.NaN));
  const theirs = figures.get(other);
  record({
    bench: 'mcp',
    what: 'small tool call over MCP',
    unit: 'requests per CPU second',
    ours: own,
    against: other === 'REST' ? 'the same operation over REST' : 'bare server of the official package',
    theirs: theirs?.perCpuSecond ?? [],
    better: 'more',
    ourLatency: { p50Ms: median(calls?.p50 ?? []), p99Ms: median(calls?.p99 ?? []) },
    theirLatency: { p50Ms: median(theirs?.p50 ?? []), p99Ms: median(theirs?.p99 ?? []) },
    aim,
  });
  console.log(`  tools/call / ${other}: ${span(ratios, 2)}, aim ${aim}`);
}
await Promise.all([troupe.stop(), bare.stop()]);

async function measure({ name, server, request }: Way, duration: number) {
  const before = await server.cpuSeconds();
  const result = await load({
    port: server.port,
    request,
    connections,
    seconds: duration,
    expectedStatus: 200,
  });
  const cpu = (await server.cpuSeconds()) - before;
  if (result.unexpected > 0) throw new Error(`${name}: ${result.unexpected} answers were not 200`);
  return {
    perCpuSecond: result.requests / cpu,
    p50: percentile(result.latenciesMs, 0.5),
    p99: percentile(result.latenciesMs, 0.99),
  };
}

function toolCall(server: BenchServer): string {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'get_quota',
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
  const head = [
    'POST /mcp HTTP/1.1',
    'Host: 127.0.0.1',
    `X-Api-Key: ${server.facts['key'] ?? ''}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'MCP-Protocol-Version: 2026-07-28',
    'Mcp-Method: tools/call',
    'Mcp-Name: get_quota',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

function quotaRead(server: BenchServer): string {
  return `GET /api/quota HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${server.facts['key'] ?? ''}\r\n\r\n`;
}

function span(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} [${low.toFixed(digits)}–${high.toFixed(digits)}]`;
}
