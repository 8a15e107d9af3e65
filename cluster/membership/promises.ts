import type { ProcessId } from '../ids/ids.js';
import type { View } from './membership.js';
import { includes } from './view.js';
import type { Time } from '../time/time.js';

/** The confirmations that this process gave, each valid for one lease (protocol 2.5). */
export class Promises {
  readonly #time: Time;
  readonly #untilMs = new Map<ProcessId, number>();

  constructor(time: Time) {
    this.#time = time;
  }

  give(process: ProcessId, forMs: number): void {
    this.#untilMs.set(process, this.#time.monotonicMs() + forMs);
  }

  /** Processes with an unexpired promise of this process. */
  holders(): ProcessId[] {
    this.#dropExpired();
    return [...this.#untilMs.keys()];
  }

  /**
   * A promise not to change the view without a process binds until it expires. After a failover the store's view may be
   * older than the held one, by which this process promised: both count.
   */
  bind(before: readonly View[], after: View): boolean {
    return this.holders().some(
      (process) => before.some((view) => includes(view, process)) && !includes(after, process),
    );
  }

  remainingMs(): number {
    this.#dropExpired();
    const nowMs = this.#time.monotonicMs();
    let longestMs = 0;
    for (const untilMs of this.#untilMs.values()) longestMs = Math.max(longestMs, Math.ceil(untilMs - nowMs));
    return longestMs;
  }

  /** For a renewal: while away its sender may promise after sending it, until the answer shows that the store is back. */
  statedMs(isAway: boolean): number {
    return Math.max(this.remainingMs(), isAway ? 1 : 0);
  }

  #dropExpired(): void {
    const nowMs = this.#time.monotonicMs();
    for (const [process, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(process);
  }
}
