import { ClusterError } from '../errors.js';
import { FairQueue, SharedBound } from '../mailbox/fair-queue.js';

/**
 * Bounds how many actors are loaded at a time, in fair turns between groups: a node that takes over many
 * actors must not flood the store.
 */
export class LoadGate {
  readonly #max: number;
  readonly #retryAfterMs: number;
  readonly #waiting = new FairQueue<() => void>();
  readonly #bound: SharedBound;
  #running = 0;
  refused = 0;

  constructor(max: number, queueMax: number, retryAfterMs: number) {
    this.#max = max;
    this.#retryAfterMs = retryAfterMs;
    this.#bound = new SharedBound(queueMax);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  async run<Result>(group: string, load: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#max) await this.#turn(group);
    else this.#running += 1;
    try {
      return await load();
    } finally {
      const next = this.#waiting.shift();
      // The place goes straight to the next: nobody can slip in between.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(group: string): Promise<void> {
    if (!this.#bound.take(group)) {
      this.refused += 1;
      return Promise.reject(
        new ClusterError('overloaded', 'too many actors wait to be loaded', {
          retryAfterMs: this.#retryAfterMs,
          notBegun: true,
        }),
      );
    }
    return new Promise((resolve) => {
      this.#waiting.push(group, () => {
        this.#bound.give(group);
        resolve();
      });
    });
  }
}
