import type { ProcessId, Slot, ViewNumber } from '../ids/ids.js';
import type { Member, View, ViewName } from '../membership/membership.js';
import { emptyView, sameView } from '../membership/view.js';
import { buildRing, buildRingInSteps, type Ring } from '../ring/ring.js';
import type { Time } from '../time/time.js';

/** How owner tables are built; a simulation of many nodes shares them. */
export type BuildRing = (view: View, previous: Ring) => Promise<Ring>;

export function ringBuilder(time: Time): BuildRing {
  return (view, previous) => buildRingInSteps(time, view, previous);
}

/** As many as membership remembers. */
const knownMax = 10_000;

/** The ring of the newest view. The old ring stays in use while the new table is built. */
export class RingKeeper {
  readonly #build: BuildRing;
  readonly #self: ProcessId;
  readonly #onRing: (ring: Ring, before: Ring) => void;
  /** Every member of every view so far: a process that left may still run a turn. */
  readonly #known = new Map<ProcessId, Member>();
  #ring = buildRing(emptyView);
  #selfIndex = -1;
  #wanted: View = emptyView;
  #building = false;
  readonly #waiters = new Set<{ readonly number: ViewNumber; readonly action: () => void }>();

  constructor(build: BuildRing, self: ProcessId, onRing: (ring: Ring, before: Ring) => void) {
    this.#build = build;
    this.#self = self;
    this.#onRing = onRing;
  }

  get ring(): Ring {
    return this.#ring;
  }

  get view(): ViewName {
    return this.#ring.view;
  }

  owns(slot: Slot): boolean {
    return this.#selfIndex >= 0 && this.#ring.owners[slot] === this.#selfIndex;
  }

  memberEver(process: ProcessId): Member | undefined {
    return this.#known.get(process);
  }

  follow(view: View): void {
    this.#wanted = view;
    this.#know(view);
    if (!this.#building) void this.#run();
  }

  /** The processes of earlier views that left longest ago are forgotten: their turns ended with their leases. */
  #know(view: View): void {
    for (const member of view.members) {
      this.#known.delete(member.process);
      this.#known.set(member.process, member);
    }
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= Math.max(knownMax, view.members.length)) return;
      this.#known.delete(oldest);
    }
  }

  /** Resolves when a ring of that view or a newer one is in use. */
  reached(number: ViewNumber): Promise<void> {
    return new Promise((resolve) => {
      this.whenReached(number, resolve);
    });
  }

  /** Calls `action` then, or at once; returns the function that ends the wait. */
  whenReached(number: ViewNumber, action: () => void): () => void {
    const waiter = { number, action };
    if (this.#ring.view.number >= number) action();
    else this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  get membersKnown(): number {
    return this.#known.size;
  }

  /** Calls and others that wait for a newer view. */
  get waiting(): number {
    return this.#waiters.size;
  }

  async #run(): Promise<void> {
    this.#building = true;
    while (!sameView(this.#ring.view, this.#wanted)) {
      const before = this.#ring;
      const ring = await this.#build(this.#wanted, before);
      this.#ring = ring;
      this.#selfIndex = ring.view.members.findIndex((member) => member.process === this.#self);
      this.#onRing(ring, before);
      for (const waiter of Array.from(this.#waiters)) {
        if (waiter.number <= ring.view.number && this.#waiters.delete(waiter)) waiter.action();
      }
    }
    this.#building = false;
  }
}
