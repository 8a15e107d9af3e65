import type { ClusterConfig } from '../../cluster/config.js';

/** How long a process may act beside its successor after its machine was suspended, with both clocks standing still. */
export class Suspensions {
  readonly #now: () => number;
  readonly #config: ClusterConfig;
  /** Until when processes may have had to confirm each other, because the member store was disturbed. */
  #confirmingUntilMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => number, config: ClusterConfig) {
    this.#now = now;
    this.#config = config;
  }

  membersDisturbed(forMs: number): void {
    this.#confirmingUntilMs = Math.max(this.#confirmingUntilMs, this.#now() + forMs);
  }

  /**
   * For a machine that is suspended now. If its process had confirmed others, its promises keep it from a view without
   * them for the rest of a lease and the margin.
   */
  overlapMs(): number {
    const { leaseActMs, leaseMs, leaseMarginMs } = this.#config;
    const promiseMs = leaseMs + leaseMarginMs;
    const mayHavePromised = this.#now() <= this.#confirmingUntilMs + promiseMs;
    return leaseActMs + (mayHavePromised ? promiseMs : 0);
  }
}
