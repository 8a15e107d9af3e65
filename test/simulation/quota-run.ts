import { SeededRandom } from '../../cluster/simulation/virtual-time.js';
import { drawFaults, endOf, type Fault } from './faults.js';
import { inject } from './inject.js';
import { QuotaGuest, type QuotaPlant } from './quota-guest.js';
import { QuotaLoad } from './quota-load.js';
import type { RunOptions, Verdict } from './run.js';
import { World } from './world.js';

export interface QuotaRunOptions extends Pick<RunOptions, 'seed' | 'faults' | 'nodes'> {
  readonly plants?: readonly QuotaPlant[];
  /** Waits until every temporary reservation has been released, instead of what the seed draws. */
  readonly isPatient?: boolean;
}

export interface QuotaVerdict extends Pick<Verdict, 'seed' | 'nodes' | 'faults' | 'violations' | 'events'> {
  /** Admitted calls; refused requests and attempts; attempts with reserved tokens. */
  readonly begun: number;
  readonly refused: number;
  readonly reserved: number;
}

const settleMs = 4_000;
const loadMs = 12_000;
const faultSpanMs = 9_000;
/** Time until all tenants are served again, the last call has ended and its row is closed. */
const drainMs = 30_000;
/** Time until unused blocks are returned and reservations of unknown outcome are released. */
const idleMs = 80_000;
/** The share of runs that take this long rest, which is expensive. */
const patientShare = 0.25;

/** Orderly stops and a slow network: faults that must not change any count. */
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

/** One run of a cluster that counts its tenants' quotas under load and faults, with all violations found. */
export async function runQuota(options: QuotaRunOptions): Promise<QuotaVerdict> {
  const { seed, plants = [] } = options;
  const draw = new SeededRandom(seed ^ 0x0a11);
  const nodes = options.nodes ?? (draw.chance(0.8) ? 3 : 2);
  const gentle = draw.chance(0.3);
  const drawn = gentle ? drawGentle(draw, nodes) : drawFaults(draw, nodes, 0, faultSpanMs);
  const isPatient = options.isPatient ?? draw.chance(patientShare);
  const faults = options.faults ?? drawn.filter(({ kind }) => kind !== 'poison');
  let guest: QuotaGuest | undefined;
  const world = new World(seed, nodes, [], 0, (inside) => (guest = new QuotaGuest(inside, plants)));
  if (guest === undefined) throw new Error('the world did not create its guest');
  world.startAll();
  await world.time.advance(settleMs);
  const load = new QuotaLoad(world, guest);
  load.start();
  load.sweep();
  for (const fault of faults) world.time.after(fault.atMs, () => inject(world, fault));
  await world.time.advance(Math.max(loadMs, ...faults.map(endOf)));
  load.stop();
  await world.time.advance(drainMs + (isPatient ? idleMs : 0));
  await load.check({ isPatient, isGentle: isPatient && faults.every(isGentle) });
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
