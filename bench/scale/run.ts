// Two nodes on two cores, compared with one node on one: the node or nodes, PostgreSQL, Redis and the load share the cores
// of their side, so the ratio says what the second core brings and what two nodes cost each other. Then a third node is
// added under a steady load: failed calls, and how long p99 is above twice its calm value.
//
//   npm run bench:scale              3 rounds of 6 s, then 24 s with a third node
//   npm run bench:scale -- 1 2 10
//   npm run bench:scale -- links   turns of sessions on the node that is asked and on the other one, in CPU time
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeProcesses } from '../../test/support/servers/nodes.js';
import { first } from '../failover/setup.js';
import { load, percentile } from '../support/load.js';
import { sendPaced } from '../support/paced.js';
import { record } from '../support/results.js';
import { median } from '../support/servers.js';
import { talk } from '../turns/clients.js';
import { compareLinks } from './links.js';
import { withNodes } from './nodes.js';

interface Side {
  readonly callsPerSecond: number;
  readonly callMs: readonly [p50: number, p99: number];
  readonly turnsPerSecond: number;
  readonly turnMs: readonly [p50: number, p99: number];
}

// A turn takes twice the CPU time until V8 has compiled its way, after some 4,000 of them on each node.
const warmUpSeconds = 15;

const [what = '3', ...numbers] = process.argv.slice(2);
if (what === 'side') {
  const [nodes = 1, seconds = 6] = numbers.map(Number);
  await withNodes(nodes, async (cluster, key, agent) => {
    process.stdout.write(`side ${JSON.stringify(await sideOf(cluster, key, agent, seconds))}\n`);
  });
} else if (what === 'third') {
  await withNodes(2, (cluster, key) => third(cluster, key, Number(numbers[0] ?? 24)));
} else if (what === 'links') {
  const [rounds = 6, seconds = 6] = numbers.map(Number);
  await withNodes(2, (cluster, key, agent) => compareLinks(cluster, key, agent, rounds, seconds));
} else compare(Number(what), Number(numbers[0] ?? 6), Number(numbers[1] ?? 24));
process.exit(0);

function compare(rounds: number, seconds: number, thirdSeconds: number): void {
  if (spawnSync('taskset', ['-c', '0,1', 'true']).status !== 0) {
    process.stderr.write('bench: bench:scale needs taskset and two cores\n');
    process.exit(2);
  }
  const ones: Side[] = [];
  const twos: Side[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ones.push(side('0', 1, seconds));
    twos.push(side('0,1', 2, seconds));
  }
  for (const [name, perSecond, latency] of [
    ['calls of a model', (one: Side) => one.callsPerSecond, (one: Side) => one.callMs],
    ['turns', (one: Side) => one.turnsPerSecond, (one: Side) => one.turnMs],
  ] as const) {
    const ratios = twos.map((two, round) => perSecond(two) / perSecond(ones[round] ?? two));
    const latencyOf = (sides: readonly Side[]) => ({
      p50Ms: median(sides.map((one) => latency(one)[0])),
      p99Ms: median(sides.map((one) => latency(one)[1])),
    });
    const [own, other] = [latencyOf(twos), latencyOf(ones)];
    console.log(
      `${name}: two nodes on two cores ${median(twos.map(perSecond)).toFixed(0)}/s, p50 ${own.p50Ms.toFixed(1)} ms, p99 ${own.p99Ms.toFixed(1)} ms; ` +
        `one on one ${median(ones.map(perSecond)).toFixed(0)}/s, p50 ${other.p50Ms.toFixed(1)} ms, p99 ${other.p99Ms.toFixed(1)} ms; ` +
        `ratio ${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}], aim 1.6`,
    );
    record({
      bench: 'scale',
      what: `${name}, two nodes on two cores`,
      unit: 'per second',
      ours: twos.map(perSecond),
      against: 'one node on one core',
      theirs: ones.map(perSecond),
      better: 'more',
      ourLatency: own,
      theirLatency: other,
      aim: 1.6,
    });
  }
  run('0,1', ['third', String(thirdSeconds)]);
}

function side(cores: string, nodes: number, seconds: number): Side {
  const output = run(cores, ['side', String(nodes), String(seconds)]);
  const [, found] = /^side (.+)$/m.exec(output) ?? [];
  if (found === undefined) throw new Error(`the side of ${nodes} nodes printed no result`);
  return JSON.parse(found);
}

/** This program on these cores; all that it starts inherits them. */
function run(cores: string, args: readonly string[]): string {
  const program = fileURLToPath(import.meta.url);
  const { status, stdout } = spawnSync('taskset', ['-c', cores, process.execPath, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stdout}`);
  for (const line of stdout.split('\n')) if (line !== '' && !line.startsWith('side ')) console.log(line);
  return stdout;
}

async function sideOf({ nodes }: NodeProcesses, key: string, agent: string, seconds: number): Promise<Side> {
  const ports = nodes.map(({ url }) => Number(new URL(url).port));
  const calls = (duration: number) =>
    Promise.all(
      ports.map((port) =>
        load({ port, request: callOf(key), connections: 16, seconds: duration, expectedStatus: 200 }),
      ),
    );
  const turns = (duration: number) =>
    Promise.all(ports.map((port) => talk({ port, key, agent, sessions: 16, seconds: duration })));
  await calls(warmUpSeconds);
  const called = await calls(seconds);
  await turns(warmUpSeconds);
  const turned = await turns(seconds);
  const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
  return {
    callsPerSecond: sum(called.map((one) => one.requests / one.seconds)),
    callMs: spreadOf(called.map((one) => one.latenciesMs)),
    turnsPerSecond: sum(turned.map((one) => one.turns / one.seconds)),
    turnMs: spreadOf(turned.map((one) => one.wholeMs)),
  };
}

async function third(cluster: NodeProcesses, key: string, seconds: number): Promise<void> {
  const ports = cluster.nodes.map(({ url }) => Number(new URL(url).port));
  const perSecond = 20;
  const addAfterMs = (seconds * 1_000) / 3;
  const startedAt = performance.now();
  const adding = sleep(addAfterMs).then(async () => {
    await cluster.add();
    await cluster.awaitMembers(first(cluster), 3);
    return performance.now();
  });
  const answers = (
    await Promise.all(
      ports.map((port) =>
        sendPaced({ port, request: () => callOf(key), perSecond, seconds, connections: 16 }),
      ),
    )
  ).flat();
  const joinedMs = (await adding) - startedAt - addAfterMs;
  const failed = answers.filter(({ status }) => status !== 200).length;
  const bySecond = new Map<number, number[]>();
  for (const { dueAtMs, ms } of answers) {
    const second = Math.floor((dueAtMs - startedAt - addAfterMs) / 1_000);
    bySecond.set(second, [...(bySecond.get(second) ?? []), ms]);
  }
  const calm = Float64Array.from(
    [...bySecond].filter(([second]) => second < 0).flatMap(([, ms]) => ms),
  ).sort();
  const calmP99 = percentile(calm, 0.99);
  const slow = [...bySecond].filter(
    ([second, ms]) => second >= 0 && percentile(Float64Array.from(ms).sort(), 0.99) > 2 * calmP99,
  ).length;
  console.log(
    `a third node under ${perSecond * ports.length} calls/s joined in ${(joinedMs / 1_000).toFixed(1)} s: ${failed} of ${answers.length} calls failed, ` +
      `p50 ${percentile(calm, 0.5).toFixed(1)} ms, p99 ${calmP99.toFixed(1)} ms before; ${slow} seconds with p99 above twice that, aim at most 3`,
  );
  const shared = { bench: 'scale', better: 'less' as const };
  record({ ...shared, what: 'a third node under load: failed calls', unit: 'calls', ours: [failed], aim: 0 });
  record({
    ...shared,
    what: 'a third node under load: p99 above twice',
    unit: 'seconds',
    ours: [slow],
    aim: 3,
  });
}

function spreadOf(parts: readonly Float64Array[]): readonly [number, number] {
  const all = Float64Array.from(parts.flatMap((part) => [...part])).sort();
  return [percentile(all, 0.5), percentile(all, 0.99)];
}

function callOf(key: string): string {
  const body = JSON.stringify({ model: 'sim.echo', query: 'Say hello to the world, please.' });
  const head = [
    'POST /api/v3/llm/public/call HTTP/1.1',
    'Host: 127.0.0.1',
    `X-Api-Key: ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
