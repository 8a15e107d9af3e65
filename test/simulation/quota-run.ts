import { SeededRandom } from '../../cluster/simulation/virtual-time.js';
import { drawFaults, endOf, type Fault } from './faults.js';
import { inject } from './inject.js';
import { QuotaGuest, type QuotaPlant } from './quota-guest.js';
import { QuotaLoad } from './quota-load.js';
import type { RunOptions, Verdict } from './run.js';
import { World } from './world.js';

export interface QuotaRunOptions extends Pick<RunOptions, 'seed' | 'faults' | 'nodes'> {
  readonly plants?: readonly QuotaPlant[];
  /** Rests until all that is held for a while is let go, in place of what the seed draws. */
  readonly isPatient?: boolean;
}

export interface QuotaVerdict extends Pick<Verdict, 'seed' | 'nodes' | 'faults' | 'violations' | 'events'> {
  /** Works that were let in, requests and attempts that were refused, attempts with tokens reserved. */
  readonly begun: number;
  readonly refused: number;
  readonly reserved: number;
}

const settleMs = 4_000;
const loadMs = 12_000;
const faultSpanMs = 9_000;
/** Everybody is served again, the last call has ended, and its row is closed by somebody. */
const drainMs = 30_000;
/** What is booked ahead and not asked for goes back, and what is reserved until it is surely closed is let go. */
const idleMs = 80_000;
/** That long a rest is costly; so many of the runs take it. */
const patience = 0.25;

/** Orderly stops and a slow network: nothing that may cost a count anything. */
function drawGentle(random: SeededRandom, nodes: number): Fault[] {
  return Array.from({ length: random.between(1, 4) }, () => {
    const atMs = random.between(0, faultSpanMs);
    return random.chance(0.75)
      ? { atMs, kind: 'drain' as const, node: random.between(0, nodes - 1) }
      : { atMs, kind: 'slow_network' as const, forMs: random.between(500, 4_000) };
  }).sort((a, b) => a.atMs - b.atMs);
}

function isGentle({ kind }: Fault): boolean {
  return kind === 'drain' || kind === 'slow_network';
}

/** One life of a cluster that counts its tenants' quotas under load and faults, and all that was found wrong with it. */
export async function runQuota(options: QuotaRunOptions): Promise<QuotaVerdict> {
  const { seed, plants = [] } = options;
  const draw = new SeededRandom(seed ^ 0x0a11);
  const nodes = options.nodes ?? (draw.chance(0.8) ? 3 : 2);
  const gentle = draw.chance(0.3);
  const drawn = gentle ? drawGentle(draw, nodes) : drawFaults(draw, nodes, 0, faultSpanMs);
  const isPatient = options.isPatient ?? draw.chance(patience);
  const faults = options.faults ?? drawn.filter(({ kind }) => kind !== 'poison');
  let guest: QuotaGuest | undefined;
  const world = new World(seed, nodes, [], 0, (inside) => (guest = new QuotaGuest(inside, plants)));
  if (guest === undefined) throw new Error('nobody came to the world');
  world.startAll();
  await world.time.advance(settleMs);
  const load = new QuotaLoad(world, guest);
  load.start();
  load.sweep();
  for (const fault of faults) world.time.after(fault.atMs, () => inject(world, fault));
  await world.time.advance(Math.max(loadMs, ...faults.map(endOf)));
  load.stop();
  await world.time.advance(drainMs + (isPatient ? idleMs : 0));
  await load.judge({ isPatient, isGentle: isPatient && faults.every(isGentle) });
  return {
    seed,
    nodes,
    faults,
    violations: world.violations,
    events: world.time.eventsRun,
    begun: load.total,
    refused: load.refused,
    reserved: load.reserved,
  };
}
