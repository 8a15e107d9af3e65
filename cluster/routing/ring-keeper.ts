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
  #waiters: { readonly number: ViewNumber; readonly resolve: () => void }[] = [];

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
    for (const member of view.members) this.#known.set(member.process, member);
    if (!this.#building) void this.#run();
  }

  /** Resolves when a ring of that view or a newer one is in use. */
  reached(number: ViewNumber): Promise<void> {
    if (this.#ring.view.number >= number) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ number, resolve });
    });
  }

  async #run(): Promise<void> {
    this.#building = true;
    while (!sameView(this.#ring.view, this.#wanted)) {
      const before = this.#ring;
      const ring = await this.#build(this.#wanted, before);
      this.#ring = ring;
      this.#selfIndex = ring.view.members.findIndex((member) => member.process === this.#self);
      this.#onRing(ring, before);
      const reached = this.#waiters.filter((waiter) => waiter.number <= ring.view.number);
      this.#waiters = this.#waiters.filter((waiter) => waiter.number > ring.view.number);
      for (const waiter of reached) waiter.resolve();
    }
    this.#building = false;
  }
}
