import { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import { drawFaults, endOf, type Fault } from '../faults.js';
import { inject } from '../inject.js';
import type { RunOptions, Verdict } from '../run.js';
import { World } from '../world.js';
import { checkConversations, checkLedger, unfinishedTurns } from './checks.js';
import { ConversationGuest } from './guest.js';
import { ConversationLoad, sessions } from './load.js';
import { checkMessages, claimsOfTheDead, unfinishedMessages } from './message-checks.js';
import type { ConversationPlant } from './plants.js';
import { WebhookLoad } from './webhook-load.js';

export interface ConversationRunOptions extends Pick<RunOptions, 'seed' | 'faults' | 'nodes'> {
  readonly plants?: readonly ConversationPlant[];
  /** Waits until the rows of lost processes must be closed, instead of what the seed draws. */
  readonly isPatient?: boolean;
}

export interface ConversationVerdict extends Pick<
  Verdict,
  'seed' | 'nodes' | 'faults' | 'violations' | 'events' | 'steps'
> {
  readonly turns: number;
  readonly effects: number;
  readonly billed: number;
  /** From the end of the faults and of the load until the last turn had ended. */
  readonly endedAfterMs: number;
  /** Accepted messages, requests with their answers, and when the last of these had been sent. */
  readonly messages: number;
  readonly callbacks: number;
  readonly deliveredAfterMs: number;
}

const settleMs = 4_000;
const loadMs = 14_000;
const faultSpanMs = 11_000;
/** Within this time after the last fault, and the load, every accepted turn has ended, and longer behind a long queue. */
const endsWithinMs = 30_000;
/** For each unfinished turn at that moment, of all sessions. */
const endsWithinMsEach = 1_000;
/** Within this time every accepted message has ended and its answer is sent. */
const deliversWithinMs = 55_000;
/** Within this time after the last fault no claim names a process that ended before. */
const claimsWithinMs = 25_000;
const pollMs = 500;
/** Until the deadline of a reader, so that every request must have been answered. */
const answersMs = 30_000;
/** Until the rows that lost processes left open must be closed: certainty, the time to finish calls, two sweeps. */
const ledgerMs = 75_000;
const patientShare = 0.3;

/** Replication is synchronous here: what a lagging replica forgets is the subject of the counters (`run.ts`). */
function adapted(fault: Fault): readonly Fault[] {
  if (fault.kind === 'poison') return [];
  return [fault.kind === 'store_failover' ? { ...fault, lagMs: 0 } : fault];
}

/** One run of a cluster with conversations under load and faults, with all violations found. */
export async function runConversations(options: ConversationRunOptions): Promise<ConversationVerdict> {
  const { seed, plants = [] } = options;
  const draw = new SeededRandom(seed ^ 0xc0de);
  const nodes = options.nodes ?? (draw.chance(0.8) ? 3 : 2);
  const faults = options.faults ?? drawFaults(draw, nodes, 0, faultSpanMs).flatMap(adapted);
  const isPatient = options.isPatient ?? draw.chance(patientShare);
  let guest: ConversationGuest | undefined;
  const world = new World(
    seed,
    nodes,
    [],
    0,
    (inside) => (guest = new ConversationGuest(inside, seed, plants)),
  );
  if (guest === undefined) throw new Error('the world did not create its guest');
  const { time } = world;
  world.startAll();
  await time.advance(settleMs);
  const load = new ConversationLoad(world, guest, draw);
  const webhooks = new WebhookLoad(world, guest, new SeededRandom(seed ^ 0x3e8));
  load.start();
  webhooks.start();
  if (options.faults === undefined && draw.chance(0.15)) load.burst();
  for (const fault of faults) time.after(fault.atMs, () => inject(world, fault));
  if (options.faults === undefined && draw.chance(0.4)) lockOne(world, guest, draw);
  const locks = new SeededRandom(seed ^ 0x10c);
  if (options.faults === undefined && locks.chance(0.4)) lockTenant(world, guest, locks);
  await time.advance(Math.max(loadMs, ...faults.map(endOf)));
  load.stop();
  webhooks.stop();
  load.engageAll();
  guest.receiver.mend();
  const endedMs = time.monotonicMs();
  const waiting = unfinishedTurns(guest).length;
  const endedAfterMs = await untilEnded(world, guest, endedMs, endsWithinMs + waiting * endsWithinMsEach);
  const withinMs = endsWithinMs + waiting * endsWithinMsEach;
  for (const { id, status } of endedAfterMs < withinMs ? [] : unfinishedTurns(guest)) {
    world.violations.push(`turn ${id} (${status}) never ended within ${withinMs} ms after the last fault`);
  }
  const deliveredAfterMs = await untilDelivered(world, guest, endedMs);
  const waitedMs = deliveredAfterMs - endedAfterMs;
  await time.advance(Math.max(1, (isPatient ? ledgerMs : answersMs) - waitedMs));
  const isSuspended = faults.some(({ kind }) => kind === 'suspend');
  world.violations.push(
    ...checkConversations(guest, load.sent, time.monotonicMs()),
    ...checkMessages(guest, webhooks.sent),
    ...(isPatient ? checkLedger(guest) : []),
    ...(isSuspended ? [] : world.steps.check(world.config)),
  );
  return {
    seed,
    nodes,
    faults,
    violations: world.violations,
    events: time.eventsRun,
    steps: world.steps.count,
    turns: guest.tables.rows.executions.size,
    effects: guest.effects.count,
    billed: guest.vendor.bill.length,
    endedAfterMs,
    messages: guest.messages.inbox.rows.size,
    callbacks: guest.receiver.sent.length,
    deliveredAfterMs,
  };
}

/** Another transaction holds a session's rows locked for a while. */
function lockOne(world: World, guest: ConversationGuest, draw: SeededRandom): void {
  const { sessionId } = draw.pick(sessions);
  world.time.after(draw.between(0, faultSpanMs), () => {
    guest.locked.add(sessionId);
    world.time.after(draw.between(200, 6_000), () => guest.locked.delete(sessionId));
  });
}

/** Another transaction holds the counters and messages of a tenant locked; batches hold rows of others too. */
function lockTenant(world: World, guest: ConversationGuest, draw: SeededRandom): void {
  const { tenantId } = draw.pick(sessions);
  world.time.after(draw.between(0, faultSpanMs), () => {
    guest.lockedTenants.add(tenantId);
    world.time.after(draw.between(200, 6_000), () => guest.lockedTenants.delete(tenantId));
  });
}

async function untilEnded(
  world: World,
  guest: ConversationGuest,
  sinceMs: number,
  withinMs: number,
): Promise<number> {
  const { time } = world;
  while (unfinishedTurns(guest).length > 0 && time.monotonicMs() - sinceMs < withinMs) {
    await time.advance(pollMs);
  }
  return time.monotonicMs() - sinceMs;
}

async function untilDelivered(world: World, guest: ConversationGuest, sinceMs: number): Promise<number> {
  const { time } = world;
  const left = (): readonly string[] => unfinishedMessages(guest);
  let hasLookedForClaims = false;
  while (left().length > 0 && time.monotonicMs() - sinceMs < deliversWithinMs) {
    await time.advance(pollMs);
    if (hasLookedForClaims || time.monotonicMs() - sinceMs < claimsWithinMs) continue;
    hasLookedForClaims = true;
    const claims = claimsOfTheDead(guest, sinceMs);
    if (claims.length > 0)
      world.violations.push(`claims of ${claims.join(', ')}, which ended long ago, remain`);
  }
  for (const one of left())
    world.violations.push(`${one} did not end within ${deliversWithinMs} ms after the last fault`);
  return time.monotonicMs() - sinceMs;
}
