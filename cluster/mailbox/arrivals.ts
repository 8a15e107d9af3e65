/** Something that waits, linked to its neighbours so that taking it out costs nothing. */
export interface Arrival {
  arrivedAtMs: number;
  /** Links of the list, kept by `Arrivals` alone. */
  laterArrival: Arrival | undefined;
  earlierArrival: Arrival | undefined;
}

class Ends implements Arrival {
  arrivedAtMs = 0;
  laterArrival: Arrival | undefined = this;
  earlierArrival: Arrival | undefined = this;
}

/** All that waits on a node in the order of its coming: tells how old the oldest is without looking at the others. */
export class Arrivals {
  /** Joins both ends of the list: its later neighbour came first, its earlier one last. */
  readonly #ends = new Ends();

  get oldestMs(): number | undefined {
    const oldest = this.#ends.laterArrival;
    return oldest === undefined || oldest === this.#ends ? undefined : oldest.arrivedAtMs;
  }

  add(arrival: Arrival): void {
    const last = this.#ends.earlierArrival ?? this.#ends;
    arrival.earlierArrival = last;
    arrival.laterArrival = this.#ends;
    last.laterArrival = arrival;
    this.#ends.earlierArrival = arrival;
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
