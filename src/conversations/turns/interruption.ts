import { setMaxListeners } from 'node:events';
import type { Time, Timer } from '../../../cluster/index.js';
import type { EndedBy } from './turn.js';

/** This process may go on with the turn no longer: what it did since its last record is nobody's business. */
export class TurnLost extends Error {
  override readonly name = 'TurnLost';

  constructor(cause?: unknown) {
    super('the turn belongs to another process by now', { cause });
  }
}

export type InterruptedBy = EndedBy | 'deadline';

/** The turn was ended before its end. */
export class TurnInterrupted extends Error {
  override readonly name = 'TurnInterrupted';
  readonly by: InterruptedBy;

  constructor(by: InterruptedBy) {
    super(`the turn was ended: ${by}`);
    this.by = by;
  }
}

/** Later than the clocks of model calls, so that these end first. */
const graceMs = 50;

/** Everything that ends a turn before its end, its session's word and its own clock, as one signal for its sockets. */
export class Interruption {
  readonly #time: Time;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  /** Made for the first sub-agent: few turns have one. */
  #outward: AbortController | undefined;
  #timer: Timer | undefined;
  #by: InterruptedBy | undefined;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(time: Time, outer: AbortSignal) {
    this.#time = time;
    this.#outer = outer;
    // Each call of a round listens; Node would take that for a leak.
    setMaxListeners(0, this.signal);
    if (outer.aborted) this.#onOuter();
    else outer.addEventListener('abort', this.#onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** For the turn of a sub-agent: why this turn was ended, in the words of a session. */
  get outward(): AbortSignal {
    if (this.#outward === undefined) {
      this.#outward = new AbortController();
      setMaxListeners(0, this.#outward.signal);
      if (this.#by !== undefined) this.#outward.abort(outwardOf(this.#by));
    }
    return this.#outward.signal;
  }

  get by(): InterruptedBy | undefined {
    return this.#by;
  }

  /** By the monotonic clock; infinite until the clock runs. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** The turn's own clock runs from here. A model call knows the deadline and ends by itself, booked as what it was. */
  startClock(remainingMs: number): void {
    this.#deadlineMs = this.#time.monotonicMs() + remainingMs;
    this.#timer = this.#time.after(Math.max(0, remainingMs) + graceMs, () => this.#interrupt('deadline'));
  }

  remainingMs(): number {
    return Math.max(0, this.#deadlineMs - this.#time.monotonicMs());
  }

  /** Throws where the turn was ended. */
  check(): void {
    if (this.#by !== undefined) throw new TurnInterrupted(this.#by);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#outer.removeEventListener('abort', this.#onOuter);
  }

  readonly #onOuter = (): void => this.#interrupt(endedBy(this.#outer.reason));

  #interrupt(by: InterruptedBy): void {
    if (this.#by !== undefined) return;
    this.#by = by;
    this.#controller.abort(new TurnInterrupted(by));
    this.#outward?.abort(outwardOf(by));
  }
}

/** That its parent is out of time the child's own clock need not know. */
function outwardOf(by: InterruptedBy): EndedBy {
  return by === 'deadline' ? 'cancelled' : by;
}

/** Without a reason that is known nothing may be said of how the turn ended. */
function endedBy(reason: unknown): EndedBy {
  return reason === 'cancelled' || reason === 'suspended' ? reason : 'lost';
}
