import {
  changingStore,
  MemoryMembers,
  MemoryNumbers,
  type Transit,
} from '../../cluster/simulation/member-store.js';
import type { MemberStore, ViewNumbers } from '../../cluster/membership/member-store.js';
import type { Random, Time } from '../../cluster/time/time.js';

/** The current master of the member store, and old masters that some places still use. */
export class MemberServers {
  #current: MemoryMembers;
  readonly #old = new Map<number, MemoryMembers>();

  constructor(time: Time, random: Random, acceptsLate: boolean) {
    this.#current = new MemoryMembers(time, random, acceptsLate);
  }

  get current(): MemoryMembers {
    return this.#current;
  }

  /** The store as a process at this place is led to it. */
  client(place: number, transit: Transit, time: Time): MemberStore {
    return changingStore(
      () => this.#old.get(place) ?? this.#current,
      (members) => members.client(transit, time),
    );
  }

  /** A replica is promoted, and these places keep the old master until the result is called. */
  split(places: readonly number[]): () => void {
    const old = this.#current;
    this.#current = old.promoted();
    for (const place of places) if (!this.#old.has(place)) this.#old.set(place, old);
    return () => {
      for (const place of places) if (this.#old.get(place) === old) this.#old.delete(place);
    };
  }

  /** A replica that lags from now on; it is promoted by calling the result, unless another was before. */
  lag(): () => void {
    const master = this.#current;
    const restore = master.copy();
    return () => {
      if (this.#current === master) restore();
    };
  }
}

/** Plants a bug: each process compares generations only with those that it named itself. */
export function uncompared(numbers: ViewNumbers, time: Time): ViewNumbers {
  const own = new MemoryNumbers(time).client();
  return {
    next: (atLeast) => numbers.next(atLeast),
    seize: (atLeast) => numbers.seize(atLeast),
    seized: () => numbers.seized(),
    newestGeneration: (used) => own.newestGeneration(used),
    nameGeneration: (generation) => own.nameGeneration(generation),
  };
}
