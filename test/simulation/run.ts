import type { MembershipEvent } from '../../cluster/membership/perspective.js';
import { SeededRandom } from '../../cluster/simulation/virtual-time.js';
import { judgeCalls, type SentCall } from './checkers.js';
import { drawFaults, endOf, type Fault } from './faults.js';
import { inject } from './inject.js';
import { Load, ledgerKeys, visitorKeys, workerKeys } from './load.js';
import type { Plant } from './plants.js';
import { ledgerBound, World } from './world.js';

export interface RunOptions {
  readonly seed: number;
  /** In place of those that the seed draws. */
  readonly faults?: readonly Fault[];
  readonly plants?: readonly Plant[];
  /** In place of what the seed draws. */
  readonly nodes?: number;
  readonly edges?: number;
  /** Told each event of membership, with its process and time, by whoever looks into a failing schedule. */
  readonly trace?: (atMs: number, process: string, event: MembershipEvent) => void;
}

export interface Verdict {
  readonly seed: number;
  readonly nodes: number;
  readonly faults: readonly Fault[];
  readonly violations: readonly string[];
  readonly calls: number;
  readonly answered: number;
  readonly effects: number;
  /** Streams read to their end, rows of work finished, timers fired, grants given. */
  readonly streams: number;
  readonly finished: number;
  readonly fired: number;
  readonly granted: number;
  readonly events: number;
}

const settleMs = 4_000;
const faultSpanMs = 9_000;
/** The promise: so long after the last fault every actor is served again, from every node. */
const recoverMs = 10_000;
/** The calls that show it; they end within the promised time. */
const probeMs = 1_000;
/** A sweep and what it finds; rows that are younger may still wait for it. */
const rowsMs = 10_000;
const drainMs = 12_000;

/** One life of a simulated cluster under load and faults, and everything that was found wrong with it. */
export async function run(options: RunOptions): Promise<Verdict> {
  const { seed, plants = [], trace } = options;
  const draw = new SeededRandom(seed ^ 0x5eed);
  const drawnNodes = draw.chance(0.8) ? 3 : draw.between(2, 5);
  const drawnEdges = draw.chance(0.3) ? 1 : 0;
  const nodes = options.nodes ?? drawnNodes;
  const edges = options.edges ?? drawnEdges;
  const drawn = drawFaults(draw, nodes, edges, faultSpanMs);
  const faults = options.faults ?? drawn;
  const world = new World(seed, nodes, plants, edges);
  world.trace = (process, event) => trace?.(world.time.monotonicMs(), process, event);
  const calls: SentCall[] = [];
  world.startAll();
  await world.time.advance(settleMs);
  const load = new Load(world, calls);
  load.start();
  for (const fault of faults) world.time.after(fault.atMs, () => inject(world, fault));
  await world.time.advance(Math.max(0, ...faults.map(endOf)));
  await untilRecovered(world, world.time.monotonicMs());
  world.violations.push(...(await probeAll(world)), ...(await judgeInstances(world)));
  load.stop();
  await world.time.advance(drainMs);
  world.rows.judge(rowsMs);
  world.violations.push(...judgeCalls(calls, world.tables, ledgerBound), ...load.judge());
  return {
    seed,
    nodes,
    faults,
    violations: world.violations,
    calls: calls.length,
    answered: calls.filter((call) => call.outcome === 'answered').length,
    effects: world.effects.count,
    streams: load.streamsRead,
    finished: world.rows.finished,
    fired: world.rows.fired,
    granted: world.grants.total,
    events: world.time.eventsRun,
  };
}

/**
 * A drain lasts until its process has ended, poison until nobody can die of it. The last fault is over, too, only when some process runs: a
 * cluster whose processes have all ended, some by themselves when they found their leases lost, serves nobody
 * until its supervisor starts one.
 */
async function untilRecovered(world: World, endedMs: number): Promise<void> {
  const lastFaultMs = (): number =>
    world.draining > 0 || world.rows.isPoisoned
      ? world.time.monotonicMs()
      : Math.max(endedMs, world.drainedAtMs, world.rows.poisonedAtMs);
  const untilMs = (): number => {
    const isRestart = world.aloneSinceMs <= lastFaultMs() + recoverMs;
    return Math.max(lastFaultMs(), isRestart ? world.aloneSinceMs : 0) + recoverMs - probeMs;
  };
  // Poison that nobody counts kills for ever; its own checker says so.
  const latestMs = endedMs + 90_000;
  while (world.time.monotonicMs() < Math.min(untilMs(), latestMs)) {
    await world.time.advance(Math.min(500, untilMs() - world.time.monotonicMs()));
  }
}

/** Promise 5: every actor is served, from every node. Says which are not. */
async function probeAll(world: World): Promise<string[]> {
  const unserved: string[] = [];
  let asked = 0;
  for (const { node, ledger, worker, visitors, host } of world.living) {
    for (const [kind, keys] of [
      [ledger, ledgerKeys],
      [worker, workerKeys],
      [visitors, visitorKeys],
    ] as const) {
      for (const key of keys) {
        asked += 1;
        const startedAtMs = world.time.monotonicMs();
        node
          .actor(kind, 'acme', key)
          .where({}, { deadlineMs: probeMs })
          .catch((error: unknown) => {
            const what = `${key} was not served from ${host.name} in time after the last fault`;
            unserved.push(`${startedAtMs}: ${what}: ${String(error)}`);
          });
      }
    }
  }
  if (asked === 0) unserved.push(`${world.time.monotonicMs()}: no node serves`);
  await world.time.advance(probeMs + 100);
  return unserved;
}

/** Volatile actors may exist twice for a moment, but not once the cluster is calm. */
async function judgeInstances(world: World): Promise<string[]> {
  for (let tries = 0; !world.isCalm && tries < 20; tries += 1) await world.time.advance(500);
  if (!world.isCalm) return ['the cluster did not become calm'];
  return [...world.instances.actors].flatMap((actor) => {
    const living = world.instances.livingOf(actor).filter(({ streams }) => streams === 0);
    const processes = living.map(({ process }) => process);
    return processes.length > 1 ? [`${actor.split('\0').at(-1)} lives in ${processes.join(' and ')}`] : [];
  });
}
