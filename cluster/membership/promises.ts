import type { ProcessId } from '../ids/ids.js';
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

  remainingMs(): number {
    this.#dropExpired();
    const nowMs = this.#time.monotonicMs();
    let longestMs = 0;
    for (const untilMs of this.#untilMs.values()) longestMs = Math.max(longestMs, Math.ceil(untilMs - nowMs));
    return longestMs;
  }

  #dropExpired(): void {
    const nowMs = this.#time.monotonicMs();
    for (const [process, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(process);
  }
}
