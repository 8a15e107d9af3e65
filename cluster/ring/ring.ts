import { slotCount, type ProcessId, type Slot } from '../ids/ids.js';
import type { Member, View } from '../membership/membership.js';
import type { Time } from '../time/time.js';
import { draw, hashText } from './hash.js';

/**
 * Weighted rendezvous hashing: every member draws a number for every slot, and the highest draw owns the slot. The
 * owner therefore depends on the view alone, and a member that joins or leaves moves only the slots that it wins or
 * held. (Bounded load would balance better, but would move slots between members that stay.) The draws are computed
 * once per view into a table; a lookup reads one array element.
 */
export class Ring {
  readonly view: View;
  /** Index into `view.members` for each slot. */
  readonly owners: Uint16Array;

  constructor(view: View, owners: Uint16Array) {
    this.view = view;
    this.owners = owners;
  }

  ownerOf(slot: Slot): Member | undefined {
    const index = this.owners[slot];
    return index === undefined ? undefined : this.view.members[index];
  }

  slotCountOf(process: ProcessId): number {
    const index = this.view.members.findIndex((member) => member.process === process);
    let count = 0;
    for (const owner of this.owners) if (owner === index) count += 1;
    return count;
  }

  /** In the order of the view's members. */
  slotCounts(): number[] {
    const counts = this.view.members.map(() => 0);
    for (const owner of this.owners) counts[owner] = (counts[owner] ?? 0) + 1;
    return counts;
  }
}

/** Built in steps, so that a change of view does not block calls. Unchanged slots keep their previous owners. */
export class RingBuild {
  readonly #view: View;
  readonly #owners = new Uint16Array(slotCount);
  readonly #hashes: Uint32Array;
  readonly #weights: Float64Array;
  readonly #all: readonly number[];
  readonly #fresh: readonly number[];
  readonly #previous: Ring | undefined;
  /** Index in the new view of each member of the previous view; -1 if it left. */
  readonly #carried: Int32Array;
  /** With equal weights the raw draws decide, which saves a logarithm per draw. */
  readonly #even: boolean;
  #next = 0;

  constructor(view: View, previous?: Ring) {
    const members = view.members;
    this.#view = view;
    this.#hashes = Uint32Array.from(members, (member) => hashText(member.process));
    this.#weights = Float64Array.from(members, (member) => member.weight);
    this.#even = this.#weights.every((weight) => weight === this.#weights[0]);
    this.#all = members.map((_, index) => index);
    this.#previous = previous;
    const before = previous?.view.members ?? [];
    const places = new Map(members.map((member, index) => [member.process, index]));
    this.#carried = Int32Array.from(before, (old) => {
      const index = places.get(old.process) ?? -1;
      return members[index]?.weight === old.weight ? index : -1;
    });
    const carried = new Set(this.#carried);
    this.#fresh = this.#all.filter((index) => !carried.has(index));
  }

  /** True once the table is complete. */
  step(slots: number): boolean {
    if (this.#view.members.length === 0) this.#next = slotCount;
    const end = Math.min(slotCount, this.#next + slots);
    // Read once: the loop runs for every slot on every change of view.
    const [owners, carried, fresh] = [this.#owners, this.#carried, this.#fresh];
    const before = this.#previous?.owners ?? new Uint16Array(0);
    for (let slot = this.#next; slot < end; slot += 1) {
      const held = slot < before.length ? (carried[before[slot] ?? 0] ?? -1) : -1;
      if (held < 0) owners[slot] = this.#best(slot, this.#all, -1);
      // Without new members, a slot with a surviving owner keeps it: only the slots of departed members are drawn.
      else owners[slot] = fresh.length === 0 ? held : this.#best(slot, fresh, held);
    }
    this.#next = Math.max(this.#next, end);
    return this.#next >= slotCount;
  }

  ring(): Ring {
    while (!this.step(slotCount)) continue;
    return new Ring(this.#view, this.#view.members.length === 0 ? new Uint16Array(0) : this.#owners);
  }

  #best(slot: number, candidates: readonly number[], held: number): number {
    let best = held;
    let bestScore = held < 0 ? -1 : this.#score(slot, held);
    for (const index of candidates) {
      const score = this.#score(slot, index);
      // Members are sorted by process id, so the lower index breaks a tie identically on every node.
      if (score > bestScore || (score === bestScore && index < best)) {
        best = index;
        bestScore = score;
      }
    }
    return best;
  }

  /** -weight / ln(u) for a uniform u: the probability of the highest score is proportional to the weight. */
  #score(slot: number, index: number): number {
    const drawn = draw(slot, this.#hashes[index] ?? 0);
    if (this.#even) return drawn;
    const uniform = (drawn + 0.5) / 0x1_0000_0000;
    return -(this.#weights[index] ?? 0) / Math.log(uniform);
  }
}

export function buildRing(view: View, previous?: Ring): Ring {
  return new RingBuild(view, previous).ring();
}

/** Yields to other work between steps; a step takes about a millisecond with ten new members. */
export function buildRingInSteps(time: Time, view: View, previous?: Ring): Promise<Ring> {
  const build = new RingBuild(view, previous);
  const slotsPerStep = Math.max(512, Math.floor(131_072 / Math.max(1, view.members.length)));
  return new Promise((resolve) => {
    const next = (): void => {
      if (build.step(slotsPerStep)) resolve(build.ring());
      else time.soon(next);
    };
    next();
  });
}
