// What callers notice of nodes that die or freeze: `npm run bench:failover`, or
// `-- <faults> <seconds between> <webhooks per second> <turns per second>`. Three
// node processes over a real Redis and PostgreSQL take webhooks, run turns and fire a schedule, while one after the other
// is killed (`kill -9`) or stopped for ten seconds and then replaced. Printed for each kind of work: how long it took from
// outside, in calm times and when it began around a fault.
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { publishAgent } from '../../test/support/builders/published-agents.js';
import { ownerView } from '../../test/support/database/owner-view.js';
import { eventually } from '../../test/support/clocks/eventually.js';
import { startNodes } from '../../test/support/servers/nodes.js';
import { PrivateRedis } from '../../test/support/servers/redis.js';
import { startDatabase } from '../support/database.js';
import { percentile } from '../support/load.js';
import { type Fault, frozenMs, replaceLost, strike } from './faults.js';
import { Load, Receiver, type Timed } from './load.js';
import { first, liftLimits, makeSchedule, makeWebhook } from './setup.js';

const sessions = 40;
/** Under a new mark no process is removed for a lease and its margin, so the first fault comes after that. */
const markSettlesMs = 6_500;
/** What begins this long before a fault may still be under way at its time. */
const beforeMs = 2_000;
/** What begins this long after a fault may still meet it. */
const afterMs = 12_000;
/** How long outstanding answers are awaited at the end. */
const settleMs = 120_000;

const [faults = 20, pauseSeconds = 12, webhooksPerSecond = 40, turnsPerSecond = 2] = process.argv
  .slice(2)
  .map(Number);

interface Occurred {
  readonly fault: Fault;
  readonly atMs: number;
}

const undo: (() => Promise<void>)[] = [];
const atEnd = { teardown: (step: () => Promise<void>) => void undo.push(step) };
let code = 0;
try {
  await measure();
} catch (error) {
  console.error(error);
  code = 1;
}
for (const step of undo.toReversed()) await step();
// Senders that still wait for a node have nothing to wait for.
process.exit(code);

async function measure(): Promise<void> {
  const database = await startDatabase();
  undo.push(() => database.stop());
  const redis = await PrivateRedis.start();
  undo.push(() => redis.stop());
  const cluster = await startNodes(atEnd, { databaseUrl: database.url, redisUrl: redis.url });
  const receiver = new Receiver();
  const url = await receiver.start();
  undo.push(async () => receiver.stop());
  const admin = first(cluster);
  await liftLimits(cluster, admin);
  const owner = { token: cluster.bootstrap.access_token, tenant: cluster.bootstrap.tenant_id };
  const webhook = await makeWebhook(admin, owner, cluster.bootstrap.agent_id, url);
  await makeSchedule(admin, owner, cluster.bootstrap.agent_id);
  const agentId = await publishAgent(admin.client, cluster.bootstrap, { model: 'sim.lorem-40-25' });

  const alive = new Set(cluster.nodes);
  const load = new Load({
    alive: () => [...alive],
    webhook,
    agentId,
    key: cluster.bootstrap.api_key,
    webhooksPerSecond,
    turnsPerSecond,
    sessions,
  });
  load.start();
  const view = await ownerView(database.url);
  undo.push(() => view.end());
  const clock = await clockOf(view);
  await sleep(markSettlesMs + pauseSeconds * 1_000);

  const occurred: Occurred[] = [];
  for (let index = 0; index < faults; index += 1) {
    const fault: Fault = index % 2 === 0 ? 'kill' : 'freeze';
    const nodes = [...alive];
    const victim = nodes[Math.floor(Math.random() * nodes.length)];
    if (victim === undefined) throw new Error('no node is alive');
    occurred.push({ fault, atMs: performance.now() });
    process.stderr.write(
      `fault ${index + 1} of ${faults}: ${fault} of ${victim.name}, load ${loadavg()[0]?.toFixed(1)}\n`,
    );
    await strike(victim, fault, alive);
    await replaceLost(cluster, alive);
    process.stderr.write(
      `replaced after ${((performance.now() - (occurred.at(-1)?.atMs ?? 0)) / 1_000).toFixed(0)} s\n`,
    );
    await sleep(pauseSeconds * 1_000);
  }
  process.stderr.write('waiting for outstanding work\n');
  await load.stop();
  await eventually(() => [...load.acknowledgedAtMs.keys()].every((id) => receiver.calledAtMs.has(id)), {
    timeoutMs: settleMs,
    everyMs: 250,
    what: 'each acknowledged message is called back',
  }).catch((error: unknown) => console.log(String(error)));

  const called: Timed[] = [...load.acknowledgedAtMs].map(([execution, atMs]) => ({
    atMs,
    tookMs: Math.max(0, (receiver.calledAtMs.get(execution) ?? Number.POSITIVE_INFINITY) - atMs),
  }));
  console.log(
    `\n${faults} faults by turns (kill -9, stop for ${frozenMs / 1_000} s) of one of three nodes, ${webhooksPerSecond} ` +
      `webhooks and ${turnsPerSecond} turns per second; other work on the machine: load ${loadavg()
        .map((one) => one.toFixed(1))
        .join(' ')}`,
  );
  show('webhook: acknowledged to called back', called, occurred);
  show('turn: asked to its end, 40 words of 25 ms', load.turns, occurred);
  show('schedule: due to fired', await schedulesOf(view, clock), occurred);
  show('delivery: put into the outbox to sent', await deliveriesOf(view, clock), occurred);
  for (const failure of new Set(load.failures)) console.log(`failed: ${failure}`);
}

/** The store's wall clock less this process's monotonic one. */
async function clockOf(view: pg.Client): Promise<number> {
  const { rows } = await view.query<{ now: Date }>('select clock_timestamp() as now');
  return (rows[0]?.now.getTime() ?? 0) - performance.now();
}

/** From the firing's own time, which is its key, to its message in the inbox. */
async function schedulesOf(view: pg.Client, clock: number): Promise<readonly Timed[]> {
  const { rows } = await view.query<{ due: Date; took: string }>(
    `select substring(key from 10)::timestamptz as due,
       extract(epoch from created_at - substring(key from 10)::timestamptz) * 1000 as took
     from trigger_inbox where key like 'schedule:%'`,
  );
  return rows.map(({ due, took }) => ({ atMs: due.getTime() - clock, tookMs: Number(took) }));
}

async function deliveriesOf(view: pg.Client, clock: number): Promise<readonly Timed[]> {
  const { rows } = await view.query<{ created_at: Date; took: string }>(
    'select created_at, extract(epoch from finished_at - created_at) * 1000 as took from deliveries',
  );
  return rows.map(({ created_at: at, took }) => ({
    atMs: at.getTime() - clock,
    tookMs: took === null ? Number.POSITIVE_INFINITY : Number(took),
  }));
}

function show(name: string, all: readonly Timed[], occurred: readonly Occurred[]): void {
  const near = ({ atMs }: Timed): Fault | undefined =>
    occurred.find((one) => atMs >= one.atMs - beforeMs && atMs <= one.atMs + afterMs)?.fault;
  console.log(name);
  const lines: readonly (readonly [string, readonly Timed[]])[] = [
    ['calm', all.filter((one) => near(one) === undefined)],
    ['around a kill', all.filter((one) => near(one) === 'kill')],
    ['around a freeze', all.filter((one) => near(one) === 'freeze')],
    ['all', all],
  ];
  for (const [which, some] of lines) console.log(`  ${which.padEnd(16)} ${distribution(some)}`);
}

function distribution(some: readonly Timed[]): string {
  const sorted = Float64Array.from(some, ({ tookMs }) => tookMs).sort();
  const figures = [0.5, 0.9, 0.99, 0.999].map(
    (share) => `p${share * 100} ${percentile(sorted, share).toFixed(0)}`,
  );
  return `${String(some.length).padStart(6)} of ${figures.join(', ')}, worst ${(sorted.at(-1) ?? Number.NaN).toFixed(0)} ms`;
}
