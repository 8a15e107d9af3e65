// Load of every kind for an hour with a fault each minute, and every invariant checked from outside at the end:
// `npm run soak`, or `npm run soak -- <minutes> <seconds between faults>`. Three node processes over a real Redis and
// PostgreSQL. Exits with 1 if an invariant does not hold.
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { openAiAt } from '../../test/support/clients/direct-calls.js';
import { eventually } from '../../test/support/clocks/eventually.js';
import { publishAgent } from '../../test/support/builders/published-agents.js';
import { ownerView } from '../../test/support/database/owner-view.js';
import { type NodeProcess, type NodeProcesses, startNodes } from '../../test/support/servers/nodes.js';
import { PrivateRedis } from '../../test/support/servers/redis.js';
import { OpenAiServer } from '../../test/support/servers/vendors/openai-server.js';
import { replaceLost, strike } from '../failover/faults.js';
import { Load, Receiver } from '../failover/load.js';
import { disableTrigger, first, liftLimits, makeSchedule, makeWebhook } from '../failover/setup.js';
import { startDatabase } from '../support/database.js';
import { Growth } from './growth.js';
import { callbackFaults, leftWork, quotaFaults } from './invariants.js';
import { billFaults, VendorCalls } from './vendor-calls.js';

const [minutes = 60, pauseSeconds = 60] = process.argv.slice(2).map(Number);
const rates = { webhooksPerSecond: 5, turnsPerSecond: 1, callsPerSecond: 5 };
const settleMs = 180_000;
const redisAwayMs = 4_000;
const vendorAwayMs = 5_000;
/** A leak shows over an hour; what a heap does within minutes says nothing. */
const growthAfterMinutes = 30;
const residentMbPerHourMax = 100;
const filesPerHourMax = 50;

const undo: (() => Promise<void>)[] = [];
let failed = true;
try {
  failed = !(await soak());
} catch (error) {
  console.error(error);
}
for (const step of undo.toReversed()) await step();
process.exit(failed ? 1 : 0);

async function soak(): Promise<boolean> {
  const database = await startDatabase();
  undo.push(() => database.stop());
  const redis = await PrivateRedis.start({ persist: true });
  undo.push(() => redis.stop());
  const vendor = await new OpenAiServer().start();
  undo.push(() => vendor.stop());
  const cluster = await startNodes(
    { teardown: (step) => void undo.push(step) },
    { databaseUrl: database.url, redisUrl: redis.url, environment: openAiAt(vendor) },
  );
  const receiver = new Receiver();
  const url = await receiver.start();
  undo.push(async () => receiver.stop());
  const admin = first(cluster);
  await liftLimits(cluster, admin);
  const { access_token: token, tenant_id: tenant, agent_id: echo, api_key: key } = cluster.bootstrap;
  const webhook = await makeWebhook(admin, { token, tenant }, echo, url);
  const schedule = await makeSchedule(admin, { token, tenant }, echo);
  const agentId = await publishAgent(admin.client, cluster.bootstrap, { model: 'sim.lorem-40-25' });

  const alive = new Set(cluster.nodes);
  const load = new Load({ alive: () => [...alive], webhook, agentId, key, sessions: 40, ...rates });
  const calls = new VendorCalls();
  load.start();
  calls.start(() => [...alive], key, rates.callsPerSecond);
  // No fault is aimed at the first node; the others are killed and frozen.
  const growth = new Growth(admin.pid);
  const sampling = setInterval(() => growth.sample(), 5_000);
  await sleep(Math.min(pauseSeconds, 10) * 1_000);

  const faults = faultsOf(redis, vendor, alive, admin);
  const endsAtMs = performance.now() + minutes * 60_000;
  for (let index = 0; performance.now() < endsAtMs; index += 1) {
    const fault = faults[index % faults.length];
    if (fault === undefined) break;
    process.stderr.write(`fault ${index + 1}: ${fault.name}\n`);
    await fault.strike();
    await supervise(cluster, alive, pauseSeconds * 1_000);
  }
  await Promise.all([load.stop(), calls.stop()]);
  clearInterval(sampling);
  // The first node too may have lost its lease for want of CPU.
  const [living = admin] = alive;
  // So that its turns end too.
  await disableTrigger(living, { token: await newToken(living, cluster), tenant }, schedule);
  const view = await ownerView(database.url);
  undo.push(() => view.end());
  const broken = await check(view, load, receiver, vendor);
  if (!alive.has(admin)) console.log('the first node has ended: what follows of it is until then');
  return report(broken, growth, { load, calls, receiver });
}

/** Replaces nodes as an operator's supervisor does: one may also lose its lease for want of CPU. */
async function supervise(cluster: NodeProcesses, alive: Set<NodeProcess>, forMs: number): Promise<void> {
  await replaceLost(cluster, alive);
  for (const endsAtMs = performance.now() + forMs; performance.now() < endsAtMs;) {
    await sleep(1_000);
    await replaceLost(cluster, alive);
  }
}

/** The token of the start has expired after an hour. */
async function newToken({ client }: NodeProcess, { bootstrap }: NodeProcesses): Promise<string> {
  const { email, password } = bootstrap.owner;
  const { status, json, text } = await client.call('POST', '/api/auth/login', {
    body: { email, password },
  });
  if (status !== 200) throw new Error(`POST /api/auth/login: ${status} ${text}`);
  return json.data.access_token as string;
}

interface SoakFault {
  readonly name: string;
  readonly strike: () => Promise<void>;
}

function faultsOf(
  redis: PrivateRedis,
  vendor: OpenAiServer,
  alive: Set<NodeProcess>,
  spared: NodeProcess,
): readonly SoakFault[] {
  const one = (): NodeProcess => {
    const others = [...alive].filter((node) => node !== spared);
    const victim = others[Math.floor(Math.random() * others.length)];
    if (victim === undefined) throw new Error('only the first node is alive');
    return victim;
  };
  return [
    { name: 'a node is killed', strike: () => strike(one(), 'kill', alive) },
    {
      name: 'Redis is away and comes back with its data',
      strike: async () => {
        await redis.kill();
        await sleep(redisAwayMs);
        await redis.restart();
      },
    },
    { name: 'a node is frozen', strike: () => strike(one(), 'freeze', alive) },
    {
      name: 'the vendor fails',
      strike: async () => {
        vendor.decide = () => ({ status: 503, message: 'overloaded' });
        await sleep(vendorAwayMs);
        vendor.decide = undefined;
      },
    },
  ];
}

/** What does not hold once the work that was under way has ended, or was given up after a bound. */
async function check(
  view: pg.Client,
  load: Load,
  receiver: Receiver,
  vendor: OpenAiServer,
): Promise<readonly string[]> {
  process.stderr.write('waiting for outstanding work\n');
  await eventually(async () => (await leftWork(view)).length === 0, {
    timeoutMs: settleMs,
    everyMs: 1_000,
  }).catch(() => undefined);
  return [
    ...(await leftWork(view)).map((left) => `left at the end: ${left}`),
    ...(await callbackFaults(view, load, receiver)),
    ...(await billFaults(view, vendor)),
    ...(await quotaFaults(view)),
    ...load.failures,
  ];
}

function report(
  broken: readonly string[],
  growth: Growth,
  { load, calls, receiver }: { load: Load; calls: VendorCalls; receiver: Receiver },
): boolean {
  const grown = growth.perHour();
  console.log(
    `${minutes} minutes: ${load.acknowledgedAtMs.size} webhooks acknowledged, ${receiver.calledAtMs.size} called back, ` +
      `${load.turns.length} turns read to their end, ${calls.answered} calls of a vendor answered`,
  );
  if (grown !== undefined) {
    const { residentMb, files } = grown;
    console.log(
      `the first node, per hour: ${residentMb.toFixed(0)} MB resident, ${files.toFixed(0)} open files`,
    );
  }
  const faults = [...broken];
  if (grown !== undefined && minutes >= growthAfterMinutes) {
    if (grown.residentMb > residentMbPerHourMax) faults.push('the first node grows in memory');
    if (grown.files > filesPerHourMax) faults.push('the first node grows in open files');
  }
  const shown = 20;
  for (const fault of faults.slice(0, shown)) console.log(`does not hold: ${fault}`);
  if (faults.length > shown) console.log(`… and ${faults.length - shown} more`);
  if (faults.length === 0) console.log('every invariant holds');
  return faults.length === 0;
}
