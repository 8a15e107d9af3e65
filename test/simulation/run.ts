import type { MembershipEvent } from '../../cluster/membership/perspective.js';
import { SeededRandom } from '../../cluster/simulation/virtual-time.js';
import { checkCalls, checkLinearizable, type SentCall } from './checkers.js';
import { drawFaults, endOf, type Fault } from './faults.js';
import { inject } from './inject.js';
import { Load, ledgerKeys, visitorKeys, workerKeys } from './load.js';
import type { Plant } from './plants.js';
import type { LongestQueues, TightQueues } from './queues.js';
import { ledgerBound, World } from './world.js';

export interface RunOptions {
  readonly seed: number;
  /** Replaces the faults that the seed draws. */
  readonly faults?: readonly Fault[];
  readonly plants?: readonly Plant[];
  /** Replace the numbers that the seed draws. */
  readonly nodes?: number;
  readonly edges?: number;
  /** Short queues under bursts of so many calls. Overload then refuses calls, also those that check liveness. */
  readonly queues?: TightQueues & { readonly burst: number };
  /** Receives each membership event with its process and time, for debugging a failing schedule. */
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
  /** Those of a process whose clocks had both stood still, after its successor's. */
  readonly overlapping: number;
  /** Streams read to the end, rows of work finished, timers fired, grants given. */
  readonly streams: number;
  readonly finished: number;
  readonly fired: number;
  readonly granted: number;
  readonly events: number;
  /** Steps of the protocol that were replayed against the model, and how long that took. */
  readonly steps: number;
  readonly traceMs: number;
  /** The most that each queue held. */
  readonly queues: LongestQueues;
}

const settleMs = 4_000;
const faultSpanMs = 9_000;
/** The guarantee: this long after the last fault every actor is served again, from every node. */
const recoverMs = 10_000;
/** The calls that check it; they end within the guaranteed time. */
const probeMs = 1_000;
/** A sweep and the work it finds; younger rows may still wait for it. */
const rowsMs = 10_000;
const drainMs = 12_000;

/** One run of a simulated cluster under load and faults, with all violations found. */
export async function run(options: RunOptions): Promise<Verdict> {
  const { seed, plants = [], trace } = options;
  const draw = new SeededRandom(seed ^ 0x5eed);
  const drawnNodes = draw.chance(0.8) ? 3 : draw.between(2, 5);
  const drawnEdges = draw.chance(0.3) ? 1 : 0;
  const nodes = options.nodes ?? drawnNodes;
  const edges = options.edges ?? drawnEdges;
  const drawn = drawFaults(draw, nodes, edges, faultSpanMs);
  const faults = options.faults ?? drawn;
  const world = new World(seed, nodes, plants, edges, undefined, options.queues);
  // A split whose named generation the durable store then forgets leaves no Redis that counts until one is replaced:
  // the fault lasts until the member store is back.
  const forgets = faults.some((fault) => fault.kind === 'store_failover' && fault.lagMs > 0);
  const splits = faults.some(({ kind }) => kind === 'members_split');
  world.trace = (process, event) => {
    if (forgets && splits && event.event === 'store_back') world.membersBackAtMs = world.time.monotonicMs();
    trace?.(world.time.monotonicMs(), process, event);
  };
  const calls: SentCall[] = [];
  world.startAll();
  await world.time.advance(settleMs);
  const load = new Load(world, calls, options.queues?.burst);
  load.start();
  for (const fault of faults) world.time.after(fault.atMs, () => inject(world, fault));
  await world.time.advance(Math.max(0, ...faults.map(endOf)));
  await untilRecovered(world, world.time.monotonicMs());
  world.violations.push(...(await probeAll(world)), ...(await checkInstances(world)));
  load.stop();
  await world.time.advance(drainMs);
  world.rows.check(rowsMs);
  world.violations.push(...checkCalls(calls, world.tables, ledgerBound), ...load.check());
  // A store that forgot commits issues their sums again.
  if (!world.grants.storeForgot) world.violations.push(...checkLinearizable(calls, world.tables));
  const checkedMs = performance.now();
  world.violations.push(...checkSteps(world, faults));
  const traceMs = performance.now() - checkedMs;
  return {
    seed,
    nodes,
    faults,
    violations: world.violations,
    calls: calls.length,
    answered: calls.filter((call) => call.outcome === 'answered').length,
    effects: world.effects.count,
    overlapping: world.effects.overlapping,
    streams: load.streamsRead,
    finished: world.rows.finished,
    fired: world.rows.fired,
    granted: world.grants.total,
    events: world.time.eventsRun,
    steps: world.steps.count,
    traceMs,
    queues: world.queues.longest,
  };
}

/**
 * A drain lasts until its process has ended, and poison until it can kill no more. A fault also lasts until a process
 * runs: a cluster whose processes have all ended, some of them after losing their leases, serves no calls until its
 * supervisor starts one.
 */
async function untilRecovered(world: World, endedMs: number): Promise<void> {
  const lastFaultMs = (): number =>
    world.draining > 0 || world.rows.isPoisoned
      ? world.time.monotonicMs()
      : Math.max(endedMs, world.drainedAtMs, world.rows.poisonedAtMs, world.membersBackAtMs);
  const untilMs = (): number => {
    const isRestart = world.aloneSinceMs <= lastFaultMs() + recoverMs;
    return Math.max(lastFaultMs(), isRestart ? world.aloneSinceMs : 0) + recoverMs - probeMs;
  };
  // Uncounted poison kills for ever; its own checker reports that.
  const latestMs = endedMs + 90_000;
  while (world.time.monotonicMs() < Math.min(untilMs(), latestMs)) {
    await world.time.advance(Math.min(500, untilMs() - world.time.monotonicMs()));
  }
}

/**
 * The model assumes a durable store that forgets nothing and a clock that counts each pause; where one of these faults
 * was injected, its own checkers know what may happen.
 */
function checkSteps(world: World, faults: readonly Fault[]): string[] {
  const isOutside = faults.some(
    (fault) => fault.kind === 'suspend' || (fault.kind === 'store_failover' && fault.lagMs > 0),
  );
  return isOutside ? [] : world.steps.check(world.config);
}

/** Guarantee 5: every actor is served from every node. Returns the actors that are not. */
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
            const failure = `${key} was not served from ${host.name} in time after the last fault`;
            unserved.push(`${startedAtMs}: ${failure}: ${String(error)}`);
          });
      }
    }
  }
  if (asked === 0) unserved.push(`${world.time.monotonicMs()}: no node is running`);
  await world.time.advance(probeMs + 100);
  return unserved;
}

/** Volatile actors may exist twice for a moment, but not once the cluster is stable. */
async function checkInstances(world: World): Promise<string[]> {
  for (let tries = 0; !world.isStable && tries < 20; tries += 1) await world.time.advance(500);
  if (!world.isStable) return ['the cluster did not become stable'];
  return [...world.instances.actors].flatMap((actor) => {
    const living = world.instances.livingOf(actor).filter(({ streams }) => streams === 0);
    const processes = living.map(({ process }) => process);
    return processes.length > 1 ? [`${actor.split('\0').at(-1)} lives in ${processes.join(' and ')}`] : [];
  });
}
