import { Worker } from 'node:worker_threads';
import type { Time, Timer } from '../../time/time.js';
import type { WatchdogSettings } from './watchdog-thread.js';

/** Enough ticks within the bound for one late timer not to matter. */
const ticksPerBound = 15;

/**
 * Ends the process when its main loop has not ticked for `boundMs` (protocol 2). A hung process cannot renew its
 * lease or answer, but it could recover and continue where it was. The thread does nothing else. It counts only time
 * in which it ran itself: a stopped process or a sleeping machine is left to the lease check.
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
    // The thread does not keep an otherwise finished process alive.
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
