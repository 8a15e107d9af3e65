import { ClusterError } from '../errors.js';
import { FairQueue, SharedBound } from '../mailbox/fair-queue.js';

/**
 * Limits how many actors load at once, fairly between groups, so that a node that takes over many actors does not
 * flood the store.
 */
export class LoadLimiter {
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

  /** `isRepeat`: the actor was admitted before, so it waits for its place whatever else waits. */
  async run<Result>(group: string, isRepeat: boolean, load: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#max) await this.#queue(group, isRepeat);
    else this.#running += 1;
    try {
      return await load();
    } finally {
      const next = this.#waiting.shift();
      // The slot passes straight to the next load, so that no other caller can take it in between.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #queue(group: string, isRepeat: boolean): Promise<void> {
    if (isRepeat) return new Promise((resolve) => this.#waiting.push(group, resolve));
    if (!this.#bound.take(group)) {
      this.refused += 1;
      return Promise.reject(
        new ClusterError('overloaded', 'too many actors are waiting to load (activationQueueMax)', {
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
