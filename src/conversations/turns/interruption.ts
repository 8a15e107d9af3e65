import { setMaxListeners } from 'node:events';
import type { Time, Timer } from '../../../cluster/index.js';
import type { EndedBy } from './turn.js';

/** This process may no longer continue the turn: its work since the last record is void. */
export class TurnLost extends Error {
  override readonly name = 'TurnLost';

  constructor(cause?: unknown) {
    super('the turn now belongs to another process', { cause });
  }
}

export type InterruptedBy = EndedBy | 'deadline';

/** The turn was interrupted before its end. */
export class TurnInterrupted extends Error {
  override readonly name = 'TurnInterrupted';
  readonly by: InterruptedBy;

  constructor(by: InterruptedBy) {
    super(`the turn was interrupted: ${by}`);
    this.by = by;
  }
}

/** Longer than the time limits of model calls, so that these end first. */
const graceMs = 50;

/**
 * Combines everything that interrupts a turn, its session's signal and its own deadline, into one signal for its
 * connections.
 */
export class Interruption {
  readonly #time: Time;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  /** Created for the first sub-agent: few turns have one. */
  #subAgentController: AbortController | undefined;
  #timer: Timer | undefined;
  #by: InterruptedBy | undefined;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(time: Time, outer: AbortSignal) {
    this.#time = time;
    this.#outer = outer;
    // Each call of a round adds a listener; Node would warn of a leak.
    setMaxListeners(0, this.signal);
    if (outer.aborted) this.#onOuter();
    else outer.addEventListener('abort', this.#onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The signal for the turn of a sub-agent: why this turn was interrupted, as an `EndedBy`. */
  get subAgentSignal(): AbortSignal {
    if (this.#subAgentController === undefined) {
      this.#subAgentController = new AbortController();
      setMaxListeners(0, this.#subAgentController.signal);
      if (this.#by !== undefined) this.#subAgentController.abort(subAgentReasonOf(this.#by));
    }
    return this.#subAgentController.signal;
  }

  get by(): InterruptedBy | undefined {
    return this.#by;
  }

  /** By the monotonic clock; infinite until the clock starts. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /**
   * Starts the turn's own clock. A model call knows the deadline and ends by itself, so that its ledger row says
   * how it ended.
   */
  startClock(remainingMs: number): void {
    this.#deadlineMs = this.#time.monotonicMs() + remainingMs;
    this.#timer = this.#time.after(Math.max(0, remainingMs) + graceMs, () => this.#interrupt('deadline'));
  }

  remainingMs(): number {
    return Math.max(0, this.#deadlineMs - this.#time.monotonicMs());
  }

  /** Throws if the turn was interrupted. */
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
    this.#subAgentController?.abort(subAgentReasonOf(by));
  }
}

/** A sub-agent sees its parent's deadline as a cancel; its own clock has not run out. */
function subAgentReasonOf(by: InterruptedBy): EndedBy {
  return by === 'deadline' ? 'cancelled' : by;
}

/** With an unknown reason, this process must not decide how the turn ended. */
function endedBy(reason: unknown): EndedBy {
  return reason === 'cancelled' || reason === 'suspended' ? reason : 'lost';
}
