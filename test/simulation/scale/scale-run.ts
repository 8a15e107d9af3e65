// A cluster of a given size through its life: start, calm, a zone that dies, an upgrade of all processes.
import type { ClusterConfig } from '../../../cluster/config.js';
import { balanceOf, type Balance, type Move, Sessions } from './placement.js';
import { type Calls, ScaleWorld } from './scale-world.js';

export interface ScaleOptions {
  readonly nodes: number;
  readonly sessions: number;
  readonly seed?: number;
  /** Parts in which all processes are replaced, one after the other. */
  readonly upgradeParts?: number;
  /** Virtual milliseconds of the calm part, and calls per virtual second in all parts. */
  readonly calmMs?: number;
  readonly callsPerSecond?: number;
  readonly config?: Partial<ClusterConfig>;
  readonly progress?: (text: string) => void;
}

/** What a part of the run cost, for the whole cluster. */
export interface Phase {
  readonly virtualMs: number;
  readonly wallMs: number;
  readonly reads: number;
  readonly readBytes: number;
  readonly changes: number;
  readonly dials: number;
  readonly batches: number;
  readonly probes: number;
  readonly calls: Calls;
  readonly moves: readonly Move[];
}

export interface ScaleReport {
  readonly nodes: number;
  readonly sessions: number;
  readonly balance: Balance;
  readonly links: { readonly open: number; readonly most: number };
  readonly heapBytesPerNode: number;
  readonly ring: { readonly fullMs: number; readonly changeMs: number };
  readonly startMs: number;
  readonly calm: Phase;
  readonly zone: Phase & { readonly died: number; readonly convergedMs: number };
  readonly upgrade: Phase & { readonly slowestPartMs: number; readonly parts: number };
  readonly balanceAfter: Balance;
  /** Processes that lost their lease, or could not start; none may. */
  readonly fenced: readonly string[];
}

const zones = 3;
const convergeMs = 60_000;

export async function runScale(options: ScaleOptions): Promise<ScaleReport> {
  const { nodes, upgradeParts = 4, calmMs = 3_000, callsPerSecond = 100, progress = () => {} } = options;
  const sessions = new Sessions(options.sessions);
  progress(`${options.sessions} sessions have their slots`);
  const before = heapBytes();
  const world = new ScaleWorld(sessions, options.seed ?? 1, options.config);
  const measured = measuring(world, callsPerSecond);
  for (let index = 0; index < nodes; index += 1) world.start(nameOf(index, 0), index % zones);
  const startMs = await world.converge(convergeMs);
  progress(`all agree after ${startMs} virtual ms`);
  await world.time.advance(3_000);
  const balance = balanceOf(world.ring, sessions);
  const counts = world.nodes.map(({ node }) => node.describe().links.open);
  const links = { open: counts.reduce((sum, one) => sum + one, 0), most: Math.max(...counts) };
  const heapBytesPerNode = (heapBytes() - before) / nodes;
  world.takeMoves();

  const calm = await measured(() => world.time.advance(calmMs));
  progress(`calm for ${calmMs} virtual ms`);

  const lost = world.nodes.filter(({ zone }) => zone === zones - 1);
  let convergedMs = 0;
  const zone = await measured(async () => {
    for (const one of lost) world.loseMachine(one);
    convergedMs = await world.converge(convergeMs);
    // Calls that waited for the dead are answered by their successors.
    await world.time.advance(2_000);
  });
  progress(`a zone of ${lost.length} died, all agree after ${convergedMs} virtual ms`);
  for (const one of lost) world.start(`${one.name}r`, one.zone);
  await world.converge(convergeMs);
  await world.time.advance(3_000);
  world.takeMoves();

  let slowestPartMs = 0;
  const old = world.nodes;
  const size = Math.ceil(old.length / upgradeParts);
  const upgrade = await measured(async () => {
    for (let part = 0; part < upgradeParts; part += 1) {
      const leaving = old.slice(part * size, (part + 1) * size);
      const partMs = world.time.monotonicMs();
      for (const [index, one] of leaving.entries()) world.start(nameOf(part * size + index, 1), one.zone);
      await world.converge(convergeMs);
      const left = Promise.all(leaving.map((one) => world.leave(one)));
      await world.converge(convergeMs);
      let done = false;
      void left.then(() => (done = true));
      await world.time.until(() => done, convergeMs, 50);
      slowestPartMs = Math.max(slowestPartMs, world.time.monotonicMs() - partMs);
      progress(`part ${part + 1} of ${upgradeParts} is replaced`);
    }
  });
  const { fullMs, changes, changeMs } = world.builds;
  return {
    nodes,
    sessions: options.sessions,
    balance,
    links,
    heapBytesPerNode,
    ring: { fullMs, changeMs: changeMs / Math.max(1, changes) },
    startMs,
    calm,
    zone: { ...zone, died: lost.length, convergedMs },
    upgrade: { ...upgrade, slowestPartMs, parts: upgradeParts },
    balanceAfter: balanceOf(world.ring, sessions),
    fenced: world.fenced,
  };
}

/** Process ids as a cluster has them: host, start time and chance. */
function nameOf(index: number, generation: number): string {
  return `troupe-${index}-7f3a9c2e${generation}`;
}

function measuring(world: ScaleWorld, callsPerSecond: number) {
  return async (part: () => Promise<void>): Promise<Phase> => {
    const from = { ...world.traffic, ...world.network.counts, ms: world.time.monotonicMs() };
    const startedMs = performance.now();
    world.takeMoves();
    const stop = world.load(callsPerSecond);
    await part();
    const { traffic } = world;
    const { counts } = world.network;
    return {
      virtualMs: world.time.monotonicMs() - from.ms,
      wallMs: performance.now() - startedMs,
      reads: traffic.reads - from.reads,
      readBytes: traffic.bytes - from.bytes,
      changes: traffic.changes - from.changes,
      dials: counts.dials - from.dials,
      batches: counts.batches - from.batches,
      probes: counts.probes - from.probes,
      calls: stop(),
      moves: world.takeMoves(),
    };
  };
}

function heapBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
