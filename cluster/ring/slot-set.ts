import { slot, slotCount, type ProcessId, type Slot } from '../ids/ids.js';
import type { Ring } from './ring.js';

/** Cached by owner table and member index: each set is needed for every scan of the store, and never changes. */
const ownedSets = new WeakMap<Uint16Array, SlotSet[]>();

/** How many bits each byte has. */
const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count += 1;
  return count;
});

/**
 * Slots as a bitmap of 32 KB. A store finds an owner's rows with `get_bit($1, slot) = 1`; the parameter has the same
 * size for any number of slots.
 */
export class SlotSet {
  readonly #bits: Uint8Array;
  #size: number | undefined;

  constructor(bits: Uint8Array = new Uint8Array(slotCount / 8)) {
    this.#bits = bits;
  }

  static ownedBy(process: ProcessId, { view, owners }: Ring): SlotSet {
    const index = view.members.findIndex((member) => member.process === process);
    if (index < 0) return new SlotSet();
    const known = ownedSets.get(owners) ?? [];
    ownedSets.set(owners, known);
    return (known[index] ??= SlotSet.#of(owners, index));
  }

  static #of(owners: Uint16Array, index: number): SlotSet {
    const bits = new Uint8Array(slotCount / 8);
    for (let place = 0, number = 0; number < owners.length; place += 1) {
      let byte = 0;
      for (let bit = 1; bit < 256; bit <<= 1, number += 1) if (owners[number] === index) byte |= bit;
      bits[place] = byte;
    }
    return new SlotSet(bits);
  }

  has(number: Slot): boolean {
    return (((this.#bits[number >> 3] ?? 0) >> (number & 7)) & 1) === 1;
  }

  /** Bit n is bit n % 8 of byte n / 8, counted from the lowest: the order of PostgreSQL's `get_bit`. */
  bytes(): Uint8Array {
    return this.#bits;
  }

  get size(): number {
    return (this.#size ??= this.#count());
  }

  #count(): number {
    let count = 0;
    const bits = this.#bits;
    for (let place = 0; place < bits.length; place += 1) count += bitCounts[bits[place] ?? 0] ?? 0;
    return count;
  }

  /** The slots of this set that are not in `other`. */
  without(other: SlotSet): SlotSet {
    return new SlotSet(this.#bits.map((byte, index) => byte & ~(other.#bits[index] ?? 0)));
  }

  *[Symbol.iterator](): Generator<Slot> {
    for (let number = 0; number < slotCount; number += 1) {
      if (((this.#bits[number >> 3] ?? 0) >> (number & 7)) & 1) yield slot(number);
    }
  }
}
