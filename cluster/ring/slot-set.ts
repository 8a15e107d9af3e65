import { slot, slotCount, type ProcessId, type Slot } from '../ids/ids.js';
import type { Ring } from './ring.js';

/** Cached by owner table and member index: each set is needed for every scan of the store, and never changes. */
const ownedSets = new WeakMap<Uint16Array, SlotSet[]>();

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
    const set = new SlotSet();
    for (let number = 0; number < owners.length; number += 1) {
      if (owners[number] === index) set.#set(number);
    }
    return set;
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
    for (const byte of this.#bits) for (let rest = byte; rest !== 0; rest &= rest - 1) count += 1;
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

  #set(number: number): void {
    this.#bits[number >> 3] = (this.#bits[number >> 3] ?? 0) | (1 << (number & 7));
  }
}
