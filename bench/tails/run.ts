// A steady load of webhooks and turns for minutes, at 70 % of the busier core as far as a short time at a low rate tells:
// ten parts of it come from a hot tenant, one from another. Meanwhile PostgreSQL vacuums by itself, twelve times as often
// as by default, both tenants are swept and rollups run. Prints p99.9 of the accept and of the first event for each
// tenant, and the slope of memory. The node has one core; the load and PostgreSQL share the other.
//
//   npm run bench:tails              10 minutes
//   npm run bench:tails -- 1 0.7     minutes, and the part of the busier core
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { requestsTo, type Who } from '../fairness/requests.js';
import { startTwoTenants } from '../fairness/two-tenants.js';
import { load, percentile } from '../support/load.js';
import { type PacedAnswer, sendPaced } from '../support/paced.js';
import { cpuSecondsBelow } from '../support/processes.js';
import { record } from '../support/results.js';
import { talk } from '../turns/clients.js';

const [minutes = 10, share = 0.7] = process.argv.slice(2).map(Number);
const seconds = minutes * 60;
const msMax = 50;
const probeSeconds = 6;
const restMs = 5_000;
/** Streamed turns a second, to measure what they and their webhooks cost. */
const probeTurns = 20;
/** Webhooks for one turn, as channels send them. */
const webhooksForTurn = 4;
interface TenantLoad {
  /** Of the whole load. */
  readonly part: number;
  /** The server closes connections that are idle for ten seconds, so the calm tenant has few. */
  readonly connections: number;
  /** Of webhooks. A session keeps its last hundred messages in memory: with so few, all are full after half of the time. */
  readonly sessions: number;
}

const tenantLoads: Readonly<Record<Who, TenantLoad>> = {
  hot: { part: 10 / 11, connections: 64, sessions: 320 },
  calm: { part: 1 / 11, connections: 6, sessions: 32 },
};

const { server, databaseUrl, stop } = await startTwoTenants({ autovacuum_naptime: '5s' });
const { port, facts } = server;
const owner = new pg.Client({ connectionString: databaseUrl });
await owner.connect();
// Otherwise its owner changes no rows either.
await owner.query('alter table tenants no force row level security');

await talk({
  port,
  key: facts['hotKey'] ?? '',
  agent: facts['hotAgent'] ?? '',
  sessions: 32,
  seconds: probeSeconds,
});
for (const who of ['hot', 'calm'] as const) {
  const request = requestsTo(server, who, 'webhooks')(0);
  await load({ port, request, connections: 4, seconds: 1, expectedStatus: 202 });
}
const turnsPerSecond = (probeTurns * share) / (await busyShareOf(probeTurns));
console.log(
  `\n${minutes} minutes at ${(share * 100).toFixed(0)} % of the busier core: ` +
    `${turnsPerSecond.toFixed(1)} streamed turns and ${(turnsPerSecond * webhooksForTurn).toFixed(1)} webhooks a second`,
);

const done = { isOver: false };
const memory: { readonly atMs: number; readonly bytes: number }[] = [];
// Before the looks at memory: answers of the server have no name, so only one question may be open.
const busyBefore = await busySeconds();
const startedAt = performance.now();
const disturbed = disturb();
const watched = watchMemory();
const tenants = await Promise.all([
  answersOf('hot', turnsPerSecond, seconds),
  answersOf('calm', turnsPerSecond, seconds),
]);
const lasted = (performance.now() - startedAt) / 1_000;
done.isOver = true;
await watched;
const busyAfter = await busySeconds();
const counts = await disturbed;

for (const { who, webhooks, streamed } of tenants) {
  report(`${who} tenant, accept of a webhook`, webhooks, 202, ({ ms }) => ms);
  report(`${who} tenant, first event of a turn`, streamed, 200, ({ firstMs }) => firstMs);
}
// PostgreSQL has the same core as this process, so it may also send late.
const late = Float64Array.from(
  tenants.flatMap(({ webhooks, streamed }) => [...webhooks, ...streamed].map(({ lateMs }) => lateMs)),
).sort();
console.log(
  `  of these times, before this process sent the request: p99 ${percentile(late, 0.99).toFixed(1)} ms, p99.9 ${percentile(late, 0.999).toFixed(1)} ms`,
);
const slope = slopeOf(memory);
console.log(
  `  resident memory: ${((memory.at(0)?.bytes ?? 0) / 1e6).toFixed(0)} MB, then ${((memory.at(-1)?.bytes ?? 0) / 1e6).toFixed(0)} MB; ` +
    `slope ${slope.toFixed(1)} MB an hour over ${minutes} minutes`,
);
console.log(
  `  meanwhile: ${counts.vacuums} vacuums or analyses of a table, ${counts.sweeps} sweeps; the node used ${shareOf(busyAfter.node - busyBefore.node)} of its core, ` +
    `PostgreSQL and the load ${shareOf(busyAfter.others - busyBefore.others)} of the other`,
);
record({
  bench: 'tails',
  what: 'slope of resident memory',
  unit: 'MB an hour',
  ours: [slope],
  better: 'less',
});
await owner.end();
await stop();
process.exit(0);

function shareOf(used: number): string {
  return `${((used / lasted) * 100).toFixed(0)} %`;
}

function report(
  what: string,
  answers: readonly PacedAnswer[],
  status: number,
  of: (answer: PacedAnswer) => number,
): void {
  const good = answers.filter((answer) => answer.status === status);
  const sorted = Float64Array.from(good.map(of)).sort();
  const at = (part: number): number => percentile(sorted, part);
  console.log(
    `  ${what}: p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, p99.9 ${at(0.999).toFixed(1)} ms, aim below ${msMax}; ` +
      `${answers.length - good.length} of ${answers.length} refused`,
  );
  record({
    bench: 'tails',
    what: `${what} under steady load`,
    unit: 'ms, p99.9',
    ours: [at(0.999)],
    better: 'less',
    ourLatency: { p50Ms: at(0.5), p99Ms: at(0.99) },
    aim: msMax,
  });
}

/** The part of the busier core that this work uses. The first round compiles the code and does not count. */
async function busyShareOf(perSecond: number): Promise<number> {
  let busyShare = Number.NaN;
  for (let round = 0; round < 2; round += 1) {
    await sleep(restMs);
    const before = await busySeconds();
    await Promise.all([
      answersOf('hot', perSecond, probeSeconds),
      answersOf('calm', perSecond, probeSeconds),
    ]);
    const after = await busySeconds();
    busyShare = Math.max(after.node - before.node, after.others - before.others) / probeSeconds;
  }
  return busyShare;
}

/** Of the node's core, and of the one that PostgreSQL shares with this process. */
async function busySeconds(): Promise<{ readonly node: number; readonly others: number }> {
  const node = await server.cpuSeconds();
  const { user, system } = process.cpuUsage();
  return { node, others: cpuSecondsBelow(process.pid) - node + (user + system) / 1e6 };
}

async function answersOf(
  who: Who,
  perSecond: number,
  forSeconds: number,
): Promise<{
  readonly who: Who;
  readonly webhooks: readonly PacedAnswer[];
  readonly streamed: readonly PacedAnswer[];
}> {
  const { part, connections, sessions } = tenantLoads[who];
  const paced = (work: 'webhooks' | 'turns', rate: number): Promise<readonly PacedAnswer[]> =>
    sendPaced({
      port,
      request: requestsTo(server, who, work, sessions),
      perSecond: rate,
      seconds: forSeconds,
      connections,
    });
  const [webhooks, streamed] = await Promise.all([
    paced('webhooks', perSecond * webhooksForTurn * part),
    paced('turns', perSecond * part),
  ]);
  return { who, webhooks, streamed };
}

/** Sweeps every few seconds. Rollups and vacuums run by themselves as often. */
async function disturb(): Promise<{ readonly vacuums: number; readonly sweeps: number }> {
  const before = await vacuumsSoFar();
  let sweeps = 0;
  while (!done.isOver) {
    await sleep(5_000);
    // Their retention is looked at again, with all that they have by now.
    await owner.query(`update tenants set swept_at = now() - interval '2 hours'`);
    sweeps += 1;
  }
  return { vacuums: (await vacuumsSoFar()) - before, sweeps };
}

/** Of single tables. */
async function vacuumsSoFar(): Promise<number> {
  const { rows } = await owner.query<{ count: string }>(
    'select sum(autovacuum_count + autoanalyze_count) as count from pg_stat_all_tables',
  );
  return Number(rows[0]?.count);
}

async function watchMemory(): Promise<void> {
  while (!done.isOver) {
    memory.push({ atMs: performance.now(), bytes: await server.residentBytes() });
    await sleep(2_000);
  }
}

/** Megabytes an hour, by least squares over the later half: the first fills caches and sessions. */
function slopeOf(all: readonly { readonly atMs: number; readonly bytes: number }[]): number {
  const late = all.slice(Math.floor(all.length / 2));
  const mean = (of: (one: (typeof late)[number]) => number): number =>
    late.reduce((sum, one) => sum + of(one), 0) / late.length;
  const [x, y] = [mean(({ atMs }) => atMs), mean(({ bytes }) => bytes)];
  const above = late.reduce((sum, { atMs, bytes }) => sum + (atMs - x) * (bytes - y), 0);
  const below = late.reduce((sum, { atMs }) => sum + (atMs - x) ** 2, 0);
  return (above / below) * 3.6;
}
