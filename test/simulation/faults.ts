import type { SeededRandom } from '../../cluster/simulation/virtual-time.js';

/** One fault. Plain values, so that a failing schedule can be printed and stored. */
export type Fault = { readonly atMs: number } & (
  | { readonly kind: 'kill' | 'vanish' | 'drain' | 'lease_removed'; readonly node: number }
  /** `suspend`: the machine pauses, and both of its clocks go on from where they stood. */
  | { readonly kind: 'freeze' | 'pause' | 'suspend'; readonly node: number; readonly forMs: number }
  | {
      readonly kind: 'cut' | 'cut_one_way';
      readonly node: number;
      readonly other: number;
      readonly forMs: number;
    }
  | { readonly kind: 'members_away' | 'store_away'; readonly node: number | 'all'; readonly forMs: number }
  /** Its steps are executed so much later, as behind a proxy that resends them; nothing tells it. */
  | { readonly kind: 'members_late'; readonly node: number; readonly forMs: number; readonly lateMs: number }
  | { readonly kind: 'slow_store'; readonly node: number; readonly forMs: number; readonly delayMs: number }
  | { readonly kind: 'unknown_commits' | 'slow_network'; readonly forMs: number }
  | { readonly kind: 'members_flushed' }
  | { readonly kind: 'members_failover'; readonly lagMs: number }
  /** A replica is promoted; these nodes keep the old master, which still accepts writes. */
  | { readonly kind: 'members_split'; readonly nodes: readonly number[]; readonly forMs: number }
  /** With a lag the replica lacks the latest commits; without one, replication is synchronous. */
  | { readonly kind: 'store_failover'; readonly lagMs: number }
  | { readonly kind: 'poison' }
  | { readonly kind: 'wall_clock'; readonly node: number; readonly offsetMs: number }
);

/** Faults occur in the first part of a run; the rest shows that everything recovers. */
export function drawFaults(random: SeededRandom, nodes: number, edges: number, spanMs: number): Fault[] {
  const count = random.between(1, 5);
  const faults = Array.from({ length: count }, () =>
    drawFault(random, nodes + edges, random.between(0, spanMs)),
  );
  if (random.chance(0.2)) faults.push(...drawDisaster(random, nodes, random.between(0, spanMs)));
  return faults.sort((a, b) => a.atMs - b.atMs);
}

/** Most or all nodes fail in the same way at almost the same moment, as when machines share a cause of failure. */
function drawDisaster(random: SeededRandom, nodes: number, atMs: number): Fault[] {
  const struck = random.chance(0.5) ? nodes : Math.floor(nodes / 2) + 1;
  const kind = random.pick(['kill', 'vanish', 'drain', 'freeze', 'pause', 'lease_removed'] as const);
  const forMs = random.between(3_000, 9_000);
  return Array.from({ length: struck }, (_, node) => {
    const at = atMs + random.between(0, 300);
    return kind === 'freeze' || kind === 'pause' ? { atMs: at, kind, node, forMs } : { atMs: at, kind, node };
  });
}

function drawFault(random: SeededRandom, nodes: number, atMs: number): Fault {
  const node = random.between(0, nodes - 1);
  const other = (node + random.between(1, nodes - 1)) % nodes;
  const forMs = random.chance(0.5) ? random.between(50, 2_000) : random.between(2_000, 9_000);
  const some = random.chance(0.5) ? node : ('all' as const);
  switch (random.between(0, 21)) {
    case 0:
    case 1:
      return { atMs, kind: 'kill', node };
    case 2:
      return { atMs, kind: 'vanish', node };
    case 3:
      return { atMs, kind: 'drain', node };
    case 4:
      return { atMs, kind: 'freeze', node, forMs };
    case 5:
      return { atMs, kind: 'pause', node, forMs };
    case 6:
      return { atMs, kind: 'cut', node, other, forMs };
    case 7:
      return { atMs, kind: 'cut_one_way', node, other, forMs };
    case 8:
    case 9:
      return { atMs, kind: 'members_away', node: some, forMs };
    case 10:
      return { atMs, kind: 'store_away', node: some, forMs };
    case 11:
      return { atMs, kind: random.chance(0.7) ? 'unknown_commits' : 'slow_network', forMs };
    case 12:
      return { atMs, kind: 'members_flushed' };
    case 13:
      return { atMs, kind: 'slow_store', node, forMs, delayMs: random.between(500, 9_000) };
    case 14:
      return { atMs, kind: 'lease_removed', node };
    case 15:
      return { atMs, kind: 'members_failover', lagMs: random.between(100, 3_000) };
    case 16:
      return { atMs, kind: 'store_failover', lagMs: random.chance(0.5) ? 0 : random.between(100, 2_000) };
    case 17:
      return { atMs, kind: 'members_split', nodes: drawSome(random, nodes), forMs: splitMs(random) };
    case 18:
      return { atMs, kind: 'suspend', node, forMs: random.between(5_000, 12_000) };
    case 19:
      return { atMs, kind: 'members_late', node, forMs, lateMs: random.between(100, 5_000) };
    case 20:
      return { atMs, kind: 'poison' };
    default:
      return { atMs, kind: 'wall_clock', node, offsetMs: random.between(-20_000, 20_000) };
  }
}

function drawSome(random: SeededRandom, nodes: number): number[] {
  const some = Array.from({ length: nodes }, (_, node) => node).filter(() => random.chance(0.4));
  return some.length === 0 ? [random.between(0, nodes - 1)] : some;
}

/** Long enough for each side to take the other for dead and to act. */
function splitMs(random: SeededRandom): number {
  return random.between(1_000, 15_000);
}

/** How long no store accepts statements while the replica takes over. */
export const failoverMs = 1_000;

export function endOf(fault: Fault): number {
  if (fault.kind === 'members_failover') return fault.atMs + fault.lagMs;
  if (fault.kind === 'store_failover') return fault.atMs + fault.lagMs + failoverMs;
  return fault.atMs + ('forMs' in fault ? fault.forMs : 0);
}
