import { FairQueue } from '../mailbox/fair-queue.js';
import type { Time } from '../time/time.js';
import type { Cell } from './cell.js';

/**
 * A burst of messages must not keep leases and sockets waiting: after so many starts the clock is looked at, and once
 * a turn of the event loop has lasted so long the rest waits for the next. On a clock that stands still within a turn
 * the number alone ends it.
 */
const startsPerLook = 256;
const turnMs = 4;
const startsPerTurn = 8_192;

/**
 * Decides which actor's next message is started. A lone message starts at once, where it was sent; what
 * waits goes through one queue that serves groups in turn, drained once per burst. No actor has a loop or
 * a promise of its own while it is idle.
 */
export class Dispatcher {
  readonly #time: Time;
  readonly #start: (cell: Cell) => void;
  readonly #ready = new FairQueue<Cell>();
  #starts = 0;
  /** How many there may be before the next look at the clock. */
  #allowed = startsPerLook;
  #turnBeganMs = 0;
  #resetAsked = false;
  #drainAsked = false;
  #draining = false;

  constructor(time: Time, start: (cell: Cell) => void) {
    this.#time = time;
    this.#start = start;
  }

  get waiting(): number {
    return this.#ready.size;
  }

  /** Whether a message may start right now without passing others that wait. */
  mayStartNow(): boolean {
    if (this.#ready.size > 0 || !this.#mayStart()) return false;
    this.#count();
    return true;
  }

  enqueue(cell: Cell): void {
    if (cell.queued) return;
    cell.queued = true;
    this.#ready.push(cell.group, cell);
    this.#askDrain();
  }

  #count(): void {
    this.#starts += 1;
    if (this.#resetAsked) return;
    this.#resetAsked = true;
    this.#turnBeganMs = this.#time.monotonicMs();
    this.#time.soon(() => {
      this.#resetAsked = false;
      this.#starts = 0;
      this.#allowed = startsPerLook;
      if (this.#ready.size > 0) this.#drain();
    });
  }

  #mayStart(): boolean {
    if (this.#starts < this.#allowed) return true;
    if (this.#starts >= startsPerTurn || this.#time.monotonicMs() - this.#turnBeganMs >= turnMs) return false;
    this.#allowed += startsPerLook;
    return true;
  }

  #askDrain(): void {
    if (this.#drainAsked || this.#draining) return;
    if (!this.#mayStart()) return;
    this.#drainAsked = true;
    queueMicrotask(() => {
      this.#drainAsked = false;
      this.#drain();
    });
  }

  #drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    while (this.#mayStart()) {
      const cell = this.#ready.shift();
      if (cell === undefined) break;
      cell.queued = false;
      this.#count();
      this.#start(cell);
    }
    this.#draining = false;
  }
}
