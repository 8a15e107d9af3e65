import type { ProcessId } from '../ids/ids.js';
import type { Time } from '../time/time.js';
import type { ClusterConfig } from '../config.js';
import type { Observer } from './observer.js';

/** When it was learned that a process has ended, and whether it surely had confirmed no other process then. */
interface End {
  readonly knownMs: number;
  readonly wasFree: boolean;
}

/** Its departure record, its silence, or what a process says that saw its exit or had waited for the whole lease. */
export type Because = 'departed' | 'silence' | 'reported';

/**
 * Processes that have surely stopped acting (protocol 2.4). This never reverts: a process that lost its lease does
 * not come back under the same id.
 */
export class GoneProcesses {
  readonly #gone = new Map<ProcessId, End>();
  readonly #waiting = new Map<ProcessId, Set<() => void>>();
  readonly #time: Time;
  readonly #config: ClusterConfig;
  readonly #observer: Observer;
  readonly #goneMax: number;
  /** Called when a process is first known to be gone. */
  onGone: ((process: ProcessId, end: End, because: Because) => void) | undefined;

  constructor(time: Time, config: ClusterConfig, observer: Observer, goneMax = 10_000) {
    this.#time = time;
    this.#config = config;
    this.#observer = observer;
    this.#goneMax = goneMax;
  }

  has(process: ProcessId): boolean {
    return this.#gone.has(process);
  }

  end(process: ProcessId): End | undefined {
    return this.#gone.get(process);
  }

  /** Processes that a caller waits for. */
  awaited(): ProcessId[] {
    return [...this.#waiting.keys()];
  }

  add(process: ProcessId, because: Because): void {
    const knownMs = this.#time.monotonicMs();
    const wasFree = this.#observer.isFree(process, knownMs, this.#config.memberStoreAwayMs);
    if (!this.#gone.has(process)) {
      const end = { knownMs, wasFree };
      this.#gone.set(process, end);
      this.onGone?.(process, end, because);
    }
    for (const oldest of this.#gone.keys()) {
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
