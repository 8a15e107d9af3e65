import type { ProcessId } from '../ids/ids.js';
import type { LeftBecause } from '../membership/membership.js';
import type { Ring } from '../ring/ring.js';

export interface LeftProcess {
  readonly process: ProcessId;
  /** `unknown`: another process removed the lease, and knows why. */
  readonly because: LeftBecause | 'unknown';
}

/** One change of the ring, as one node saw it. */
export interface RingChange {
  readonly view: { readonly number: number; readonly hash: string };
  /** The node's wall clock when it began to route by the view. */
  readonly atMs: number;
  readonly members: number;
  readonly joined: readonly ProcessId[];
  readonly left: readonly LeftProcess[];
  /** Slots with another owner than before. */
  readonly moved: number;
}

/** About what an operator looks back at; a description stays a few kilobytes. */
const changesMax = 50;

/** The last changes of the ring, newest last. */
export class RingHistory {
  readonly #whyLeft: (process: ProcessId) => LeftBecause | undefined;
  #changes: RingChange[] = [];

  constructor(whyLeft: (process: ProcessId) => LeftBecause | undefined) {
    this.#whyLeft = whyLeft;
  }

  /** A poll may show the new view before the store answers the process that removed the lease: it is asked again. */
  changes(): readonly RingChange[] {
    this.#changes = this.#changes.map((change) =>
      change.left.some(({ because }) => because === 'unknown')
        ? { ...change, left: change.left.map((gone) => this.#askedAgain(gone)) }
        : change,
    );
    return this.#changes;
  }

  /** The first ring of a node that joins others is no change: it did not see the ring before. */
  note(ring: Ring, before: Ring, atMs: number): void {
    const { view } = ring;
    if (before.view.number === 0 && view.members.length !== 1) return;
    const earlier = new Set(before.view.members.map(({ process }) => process));
    const present = new Set(view.members.map(({ process }) => process));
    this.#changes.push({
      view: { number: view.number, hash: view.hash },
      atMs,
      members: view.members.length,
      joined: [...present].filter((process) => !earlier.has(process)),
      left: [...earlier]
        .filter((process) => !present.has(process))
        .map((process) => ({ process, because: this.#whyLeft(process) ?? 'unknown' })),
      moved: movedSlots(ring, before),
    });
    if (this.#changes.length > changesMax) this.#changes.shift();
  }

  #askedAgain(gone: LeftProcess): LeftProcess {
    if (gone.because !== 'unknown') return gone;
    const because = this.#whyLeft(gone.process);
    // A removed process that lives on departs later, once it finds its lease gone: it did not leave in order.
    return because === undefined || because === 'left' ? gone : { process: gone.process, because };
  }
}

/** By owner table and the table before it: the nodes of a simulation share theirs. */
const counted = new WeakMap<Uint16Array, WeakMap<Uint16Array, number>>();

function movedSlots(ring: Ring, before: Ring): number {
  const known = counted.get(ring.owners) ?? new WeakMap<Uint16Array, number>();
  counted.set(ring.owners, known);
  const moved = known.get(before.owners) ?? countMoved(ring, before);
  known.set(before.owners, moved);
  return moved;
}

/** A quarter of a millisecond for all slots. */
function countMoved(ring: Ring, before: Ring): number {
  const owners = ring.owners;
  const owned = before.owners;
  // Either has all slots, or none.
  if (owned.length !== owners.length) return Math.max(owned.length, owners.length);
  const places = new Map(ring.view.members.map(({ process }, index) => [process, index]));
  const earlier = Int32Array.from(before.view.members, ({ process }) => places.get(process) ?? -1);
  let moved = 0;
  for (let slot = 0; slot < owners.length; slot += 1) {
    if (owners[slot] !== earlier[owned[slot] ?? 0]) moved += 1;
  }
  return moved;
}
