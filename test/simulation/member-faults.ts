import type { SeededRandom } from '../../cluster/simulation/virtual-time.js';

/** What happens to processes that only keep membership; `nodes` are places in their list. */
export type MemberFault = { readonly atMs: number } & (
  | { readonly kind: 'kill' | 'leave' | 'lease_removed' | 'refused'; readonly node: number }
  | { readonly kind: 'freeze' | 'pause'; readonly node: number; readonly forMs: number }
  /** The member store is away for these processes, which reach it again one after the other. */
  | { readonly kind: 'store_away'; readonly backAfterMs: Readonly<Record<number, number>> }
  | { readonly kind: 'steps_late'; readonly node: number; readonly forMs: number; readonly lateMs: number }
  | { readonly kind: 'numbers_away'; readonly nodes: readonly number[]; readonly forMs: number }
  | {
      readonly kind: 'cut' | 'cut_one_way';
      readonly node: number;
      readonly other: number;
      readonly forMs: number;
    }
  /** Between these processes and the others a firewall answers every connection with a refusal. */
  | { readonly kind: 'rejected'; readonly nodes: readonly number[]; readonly forMs: number }
  | { readonly kind: 'flush' | 'join' }
  | { readonly kind: 'failover'; readonly lagMs: number }
  | { readonly kind: 'split'; readonly nodes: readonly number[]; readonly forMs: number }
  | { readonly kind: 'wall_clock'; readonly node: number; readonly offsetMs: number }
);

/** Longer than any bound of membership, so that whoever is to give up gives up. */
const awayMaxMs = 16_000;

/** Faults centred on losing the member store, since most rules of membership are about that. */
export function drawMemberFaults(random: SeededRandom, nodes: number, spanMs: number): MemberFault[] {
  const faults: MemberFault[] = [];
  if (random.chance(0.8)) {
    const away = drawAway(random, nodes, random.between(0, spanMs / 2));
    faults.push(away);
    if (random.chance(0.3)) faults.push(drawRejected(random, nodes, away));
  }
  const others = random.between(faults.length > 0 ? 0 : 1, 5);
  for (let count = 0; count < others; count += 1) {
    faults.push(drawOther(random, nodes, random.between(0, spanMs)));
  }
  return faults.sort((one, other) => one.atMs - other.atMs);
}

/** Often a majority; they come back together, or spread over some seconds. */
function drawAway(
  random: SeededRandom,
  nodes: number,
  atMs: number,
): MemberFault & { readonly kind: 'store_away' } {
  const share = random.pick([0.3, 0.6, 0.6, 1]);
  const forMs = random.chance(0.3) ? random.between(200, 3_000) : random.between(3_000, awayMaxMs);
  const spreadMs = random.pick([0, 500, 3_000]);
  const backAfterMs: Record<number, number> = {};
  for (let node = 0; node < nodes; node += 1) {
    if (random.chance(share)) backAfterMs[node] = forMs + random.between(0, spreadMs);
  }
  return { atMs, kind: 'store_away', backAfterMs };
}

/** Some of those that lost the member store: the others take them for ended, while all of them confirm each other. */
function drawRejected(
  random: SeededRandom,
  nodes: number,
  { atMs, backAfterMs }: MemberFault & { readonly kind: 'store_away' },
): MemberFault {
  const away = Object.keys(backAfterMs).map(Number);
  const some = away.filter(() => random.chance(0.6));
  const rejected = some.length > 0 ? some : drawSome(random, nodes);
  const forMs = Math.max(0, ...Object.values(backAfterMs));
  return { atMs: atMs + random.between(0, 3_000), kind: 'rejected', nodes: rejected, forMs };
}

function drawOther(random: SeededRandom, nodes: number, atMs: number): MemberFault {
  const node = random.between(0, nodes - 1);
  const other = (node + random.between(1, nodes - 1)) % nodes;
  const forMs = random.chance(0.4) ? random.between(100, 3_000) : random.between(3_000, awayMaxMs);
  switch (random.between(0, 17)) {
    case 0:
    case 1:
    case 2:
      return { atMs, kind: 'kill', node };
    case 3:
      return { atMs, kind: 'leave', node };
    case 4:
      return { atMs, kind: 'lease_removed', node };
    case 5:
      return { atMs, kind: 'refused', node };
    case 6:
    case 7:
      return { atMs, kind: 'freeze', node, forMs };
    case 8:
      return { atMs, kind: 'pause', node, forMs };
    case 9:
      return { atMs, kind: 'steps_late', node, forMs, lateMs: random.between(100, 5_000) };
    case 10:
      return { atMs, kind: 'numbers_away', nodes: drawSome(random, nodes), forMs };
    case 11:
    case 12:
      return { atMs, kind: random.chance(0.7) ? 'cut' : 'cut_one_way', node, other, forMs };
    case 13:
      return { atMs, kind: 'flush' };
    case 14:
      return { atMs, kind: 'join' };
    case 15:
      return { atMs, kind: 'failover', lagMs: random.between(100, 3_000) };
    case 16:
      return { atMs, kind: 'split', nodes: drawSome(random, nodes), forMs };
    default:
      return { atMs, kind: 'wall_clock', node, offsetMs: -random.between(1_000, 20_000) };
  }
}

function drawSome(random: SeededRandom, nodes: number): number[] {
  const some = Array.from({ length: nodes }, (_, node) => node).filter(() => random.chance(0.5));
  return some.length === 0 ? [random.between(0, nodes - 1)] : some;
}

export function endOfMemberFault(fault: MemberFault): number {
  if (fault.kind === 'store_away') return fault.atMs + Math.max(0, ...Object.values(fault.backAfterMs));
  if (fault.kind === 'failover') return fault.atMs + fault.lagMs;
  return fault.atMs + ('forMs' in fault ? fault.forMs : 0);
}
