/** A waiting entry, linked to its neighbours so that removal is cheap. */
export interface Arrival {
  arrivedAtMs: number;
  /** List links, written only by `Arrivals`. */
  laterArrival: Arrival | undefined;
  earlierArrival: Arrival | undefined;
}

class Sentinel implements Arrival {
  arrivedAtMs = 0;
  laterArrival: Arrival | undefined = this;
  earlierArrival: Arrival | undefined = this;
}

/** The waiting entries of a node in order of arrival. Returns the age of the oldest without a scan. */
export class Arrivals {
  /** Joins both ends of the list: its later neighbour is the oldest entry, its earlier neighbour the newest. */
  readonly #sentinel = new Sentinel();

  get oldestMs(): number | undefined {
    const oldest = this.#sentinel.laterArrival;
    return oldest === undefined || oldest === this.#sentinel ? undefined : oldest.arrivedAtMs;
  }

  add(arrival: Arrival): void {
    const last = this.#sentinel.earlierArrival ?? this.#sentinel;
    arrival.earlierArrival = last;
    arrival.laterArrival = this.#sentinel;
    last.laterArrival = arrival;
    this.#sentinel.earlierArrival = arrival;
  }

  remove(arrival: Arrival): void {
    const { earlierArrival, laterArrival } = arrival;
    if (earlierArrival === undefined || laterArrival === undefined) return;
    earlierArrival.laterArrival = laterArrival;
    laterArrival.earlierArrival = earlierArrival;
    arrival.earlierArrival = undefined;
    arrival.laterArrival = undefined;
  }
}
