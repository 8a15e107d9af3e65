// Ten million sessions as what placement sees of them: how many each slot has.
import { actorKind, addressText, slotCount, type ProcessId } from '../../../cluster/ids/ids.js';
import { slotOfText } from '../../../cluster/ring/hash.js';
import type { Ring } from '../../../cluster/ring/ring.js';

export const sessionKind = actorKind('sim.Session');
/** Sessions of one tenant, as a rule of thumb; the group is part of the key that is hashed. */
const perTenant = 1_000;

export function sessionAddress(number: number) {
  return { kind: sessionKind, group: `t${Math.floor(number / perTenant)}`, key: `s${number}` };
}

export class Sessions {
  readonly count: number;
  readonly #inSlot = new Uint32Array(slotCount);

  constructor(count: number) {
    this.count = count;
    for (let number = 0; number < count; number += 1) {
      const slot = slotOfText(addressText(sessionAddress(number)));
      this.#inSlot[slot] = (this.#inSlot[slot] ?? 0) + 1;
    }
  }

  in(slot: number): number {
    return this.#inSlot[slot] ?? 0;
  }
}

export interface Share {
  /** Of the fullest and of the emptiest node, divided by the mean. */
  readonly most: number;
  readonly least: number;
}

export interface Balance {
  readonly slots: Share;
  readonly sessions: Share;
}

export function balanceOf(ring: Ring, sessions: Sessions): Balance {
  const slots = new Float64Array(ring.view.members.length);
  const held = new Float64Array(ring.view.members.length);
  for (const [slot, owner] of ring.owners.entries()) {
    slots[owner] = (slots[owner] ?? 0) + 1;
    held[owner] = (held[owner] ?? 0) + sessions.in(slot);
  }
  return { slots: shareOf(slots), sessions: shareOf(held) };
}

function shareOf(counts: Float64Array): Share {
  let sum = 0;
  let most = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const count of counts) {
    sum += count;
    most = Math.max(most, count);
    least = Math.min(least, count);
  }
  const mean = sum / counts.length;
  return { most: most / mean, least: least / mean };
}

export interface Move {
  readonly slots: number;
  readonly sessions: number;
  /** Slots that had to move: those of processes that left, and those that belong to newcomers. */
  readonly needed: number;
}

/** What moved between two rings. */
export function moved(before: Ring, after: Ring, sessions: Sessions): Move {
  const present = new Set(after.view.members.map(({ process }) => process));
  const earlier = new Set(before.view.members.map(({ process }) => process));
  let slots = 0;
  let carried = 0;
  let needed = 0;
  for (let slot = 0; slot < after.owners.length; slot += 1) {
    const from = ownerAt(before, slot);
    const to = ownerAt(after, slot);
    if (from === to) continue;
    slots += 1;
    carried += sessions.in(slot);
    if (from === undefined || to === undefined || !present.has(from) || !earlier.has(to)) needed += 1;
  }
  return { slots, sessions: carried, needed };
}

function ownerAt(ring: Ring, slot: number): ProcessId | undefined {
  const owner = ring.owners[slot];
  return owner === undefined ? undefined : ring.view.members[owner]?.process;
}
