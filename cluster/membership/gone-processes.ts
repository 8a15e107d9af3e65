import type { ProcessId } from '../ids/ids.js';

/**
 * Processes that have surely stopped acting (protocol 2.4). This never reverts: a process that lost its lease does
 * not come back under the same id.
 */
export class GoneProcesses {
  readonly #gone = new Set<ProcessId>();
  readonly #waiting = new Map<ProcessId, Set<() => void>>();
  readonly #goneMax: number;

  constructor(goneMax = 10_000) {
    this.#goneMax = goneMax;
  }

  has(process: ProcessId): boolean {
    return this.#gone.has(process);
  }

  /** Processes that a caller waits for. */
  awaited(): ProcessId[] {
    return [...this.#waiting.keys()];
  }

  add(process: ProcessId): void {
    this.#gone.add(process);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= this.#goneMax) break;
      this.#gone.delete(oldest);
    }
    const waiting = this.#waiting.get(process);
    this.#waiting.delete(process);
    for (const resolve of waiting ?? []) resolve();
  }

  wait(process: ProcessId, signal: AbortSignal): Promise<void> {
    if (this.has(process)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(reasonOf(signal));
        return;
      }
      const waiting = this.#waiting.get(process) ?? new Set();
      this.#waiting.set(process, waiting);
      const onGone = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        waiting.delete(onGone);
        if (waiting.size === 0) this.#waiting.delete(process);
        reject(reasonOf(signal));
      };
      waiting.add(onGone);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason });
}
