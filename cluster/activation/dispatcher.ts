import { FairQueue } from '../mailbox/fair-queue.js';
import type { Time } from '../time/time.js';
import type { Cell } from './cell.js';

/**
 * A burst of messages must not delay lease renewals and sockets. The clock is read after each `startsPerClockRead`
 * starts; once a turn of the event loop has lasted `turnMs`, the rest waits for the next turn. `startsPerTurn` ends
 * the turn on a virtual clock, which stands still within one.
 */
const startsPerClockRead = 256;
const turnMs = 4;
const startsPerTurn = 8_192;

/**
 * Decides which actor's next message starts. A single message starts at once, in the sender's stack; waiting ones go
 * through one queue that is fair between groups and drained once per burst. An idle actor has no loop and no promise
 * of its own.
 */
export class Dispatcher {
  readonly #time: Time;
  readonly #start: (cell: Cell) => void;
  readonly #ready = new FairQueue<Cell>();
  #starts = 0;
  /** Starts allowed before the clock is read again. */
  #allowed = startsPerClockRead;
  #turnStartedMs = 0;
  #resetScheduled = false;
  #drainScheduled = false;
  #draining = false;

  constructor(time: Time, start: (cell: Cell) => void) {
    this.#time = time;
    this.#start = start;
  }

  get waiting(): number {
    return this.#ready.size;
  }

  /** Whether a message may start now without overtaking waiting ones. */
  mayStartNow(): boolean {
    if (this.#ready.size > 0 || !this.#mayStart()) return false;
    this.#count();
    return true;
  }

  enqueue(cell: Cell): void {
    if (cell.queued) return;
    cell.queued = true;
    this.#ready.push(cell.group, cell);
    this.#scheduleDrain();
  }

  #count(): void {
    this.#starts += 1;
    if (this.#resetScheduled) return;
    this.#resetScheduled = true;
    this.#turnStartedMs = this.#time.monotonicMs();
    this.#time.soon(() => {
      this.#resetScheduled = false;
      this.#starts = 0;
      this.#allowed = startsPerClockRead;
      if (this.#ready.size > 0) this.#drain();
    });
  }

  #mayStart(): boolean {
    if (this.#starts < this.#allowed) return true;
    if (this.#starts >= startsPerTurn || this.#time.monotonicMs() - this.#turnStartedMs >= turnMs)
      return false;
    this.#allowed += startsPerClockRead;
    return true;
  }

  #scheduleDrain(): void {
    if (this.#drainScheduled || this.#draining) return;
    if (!this.#mayStart()) return;
    this.#drainScheduled = true;
    queueMicrotask(() => {
      this.#drainScheduled = false;
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
