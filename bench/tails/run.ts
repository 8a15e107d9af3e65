// A steady load of webhooks and turns at 70 % of what the node can do, for minutes, while PostgreSQL vacuums, a tenant is
// swept, rollups run and another tenant is hot: p99.9 of the accept and of the first event, and the slope of memory. The
// node has one core; the load and PostgreSQL share the other.
//
//   npm run bench:tails              10 minutes
//   npm run bench:tails -- 1 0.7     minutes, and the share of what the node can do
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { requestsTo } from '../fairness/requests.js';
import { startTwoTenants } from '../fairness/two-tenants.js';
import { load, percentile } from '../support/load.js';
import { type PacedAnswer, sendPaced } from '../support/paced.js';
import { record } from '../support/results.js';
import { talk } from '../turns/clients.js';

const [minutes = 10, share = 0.7] = process.argv.slice(2).map(Number);
const seconds = minutes * 60;
const msMax = 50;
const probeSeconds = 6;
/** Webhooks for one turn, as channels send them. */
const webhooksForTurn = 4;

const { server, databaseUrl, stop } = await startTwoTenants();
const { port, facts } = server;
const owner = new pg.Client({ connectionString: databaseUrl });
await owner.connect();
// Otherwise its owner changes no rows either.
await owner.query('alter table tenants no force row level security');

const key = facts['calmKey'] ?? '';
await talk({ port, key, agent: facts['calmAgent'] ?? '', sessions: 16, seconds: probeSeconds });
const { turns, seconds: took } = await talk({
  port,
  key,
  agent: facts['calmAgent'] ?? '',
  sessions: 32,
  seconds: probeSeconds,
});
// A message of a webhook becomes a turn too, so both count as turns.
const turnsPerSecond = ((turns / took) * share) / (1 + webhooksForTurn);
await load({
  port,
  request: requestsTo(server, 'calm', 'webhooks')(0),
  connections: 4,
  seconds: 1,
  expectedStatus: 202,
});
console.log(
  `\n${minutes} minutes at ${(share * 100).toFixed(0)} % of ${(turns / took).toFixed(0)} turns/s: ` +
    `${turnsPerSecond.toFixed(1)} streamed turns and ${(turnsPerSecond * webhooksForTurn).toFixed(1)} webhooks a second`,
);

const done = { isOver: false };
const memory: { readonly atMs: number; readonly bytes: number }[] = [];
const disturbed = disturb();
const watched = watchMemory();
const paced = (work: 'webhooks' | 'turns', perSecond: number): Promise<readonly PacedAnswer[]> =>
  sendPaced({ port, request: requestsTo(server, 'calm', work), perSecond, seconds, connections: 64 });
const [webhooks, streamed] = await Promise.all([
  paced('webhooks', turnsPerSecond * webhooksForTurn),
  paced('turns', turnsPerSecond),
]);
done.isOver = true;
const counts = await disturbed;
await watched;

report('accept of a webhook', webhooks, 202, ({ ms }) => ms);
report('first event of a turn', streamed, 200, ({ firstMs }) => firstMs);
const slope = slopeOf(memory);
console.log(
  `  resident memory: ${((memory.at(0)?.bytes ?? 0) / 1e6).toFixed(0)} MB, then ${((memory.at(-1)?.bytes ?? 0) / 1e6).toFixed(0)} MB; ` +
    `slope ${slope.toFixed(1)} MB an hour over ${minutes} minutes`,
);
console.log(
  `  meanwhile: ${counts.vacuums} vacuums, ${counts.sweeps} sweeps, ${counts.hot} requests of a hot tenant`,
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

/** One after the other, so that each is there a part of the time. Rollups run by themselves, every few seconds. */
async function disturb(): Promise<{
  readonly vacuums: number;
  readonly sweeps: number;
  readonly hot: number;
}> {
  const made = { vacuums: 0, sweeps: 0, hot: 0 };
  while (!done.isOver) {
    await sleep(5_000);
    await owner.query('vacuum (analyze)');
    made.vacuums += 1;
    // Its retention is looked at again, with all that it has by now.
    await owner.query(`update tenants set swept_at = now() - interval '2 hours' where id = $1`, [
      facts['calmTenant'] ?? '',
    ]);
    made.sweeps += 1;
    if (done.isOver) break;
    const hot = await sendPaced({
      port,
      request: requestsTo(server, 'hot', 'webhooks'),
      perSecond: turnsPerSecond * webhooksForTurn * 10,
      seconds: 5,
      connections: 32,
    });
    made.hot += hot.length;
  }
  return made;
}

async function watchMemory(): Promise<void> {
  while (!done.isOver) {
    memory.push({ atMs: performance.now(), bytes: await server.residentBytes() });
    // Each look collects garbage, which stops the node: too few to show in the p99.9.
    await sleep(Math.max(5_000, (seconds * 1_000) / 8));
  }
}

/** Megabytes an hour, by least squares over the later two thirds: the first fill caches. */
function slopeOf(all: readonly { readonly atMs: number; readonly bytes: number }[]): number {
  const late = all.slice(Math.floor(all.length / 3));
  const mean = (of: (one: (typeof late)[number]) => number): number =>
    late.reduce((sum, one) => sum + of(one), 0) / late.length;
  const [x, y] = [mean(({ atMs }) => atMs), mean(({ bytes }) => bytes)];
  const above = late.reduce((sum, { atMs, bytes }) => sum + (atMs - x) * (bytes - y), 0);
  const below = late.reduce((sum, { atMs }) => sum + (atMs - x) ** 2, 0);
  return (above / below) * 3.6;
}
