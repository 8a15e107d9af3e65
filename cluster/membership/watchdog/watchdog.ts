import { Worker } from 'node:worker_threads';
import type { Time, Timer } from '../../time/time.js';
import type { WatchdogSettings } from './watchdog-thread.js';

/** Enough ticks in the bound that one late timer means nothing. */
const ticksPerBound = 15;

/**
 * Ends the process when its main loop has not ticked for so long (protocol 2): a process that hangs cannot
 * renew its lease and cannot answer anybody, but it could come to itself and go on where it was. The thread
 * does nothing else. It counts only time in which it ran itself, so that a process that was stopped as a
 * whole, or a machine that slept, is left to the look at the lease.
 */
export class Watchdog {
  readonly #time: Time;
  readonly #everyMs: number;
  readonly #worker: Worker;
  readonly #ticks: Int32Array<SharedArrayBuffer>;
  #timer: Timer | undefined;

  constructor(time: Time, boundMs: number) {
    this.#time = time;
    this.#everyMs = boundMs / ticksPerBound;
    const memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#ticks = new Int32Array(memory);
    const workerData: WatchdogSettings = { memory, boundMs, everyMs: this.#everyMs };
    this.#worker = new Worker(new URL('watchdog-thread.js', import.meta.url), { workerData, execArgv: [] });
    // A process that has nothing else to do may end.
    this.#worker.unref();
    this.#tick();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#worker.terminate();
  }

  #tick(): void {
    Atomics.add(this.#ticks, 0, 1);
    this.#timer = this.#time.after(this.#everyMs, () => this.#tick());
  }
}
