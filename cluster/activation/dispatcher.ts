import { FairQueue } from '../mailbox/fair-queue.js';
import type { Time } from '../time/time.js';
import type { Cell } from './cell.js';

/** Starts in one turn of the event loop: a burst of messages must not keep leases and sockets waiting. */
const startsPerTurn = 1_024;

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
    if (this.#ready.size > 0 || this.#starts >= startsPerTurn) return false;
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
    this.#time.soon(() => {
      this.#resetAsked = false;
      this.#starts = 0;
      if (this.#ready.size > 0) this.#drain();
    });
  }

  #askDrain(): void {
    if (this.#drainAsked || this.#draining) return;
    if (this.#starts >= startsPerTurn) return;
    this.#drainAsked = true;
    queueMicrotask(() => {
      this.#drainAsked = false;
      this.#drain();
    });
  }

  #drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    while (this.#starts < startsPerTurn) {
      const cell = this.#ready.shift();
      if (cell === undefined) break;
      cell.queued = false;
      this.#count();
      this.#start(cell);
    }
    this.#draining = false;
  }
}
