import type { Clock } from '../vendor-error.js';
import type { CallTime } from './call-time.js';

export interface ClockLimits {
  /** From the start of the attempt to the first content, thought or tool call; left out for answers sent whole. */
  readonly firstSignalMs: number | undefined;
  /** Between two pieces of the answer. */
  readonly idleMs: number;
  /** The end of the whole call, by the monotonic clock; the same for all its attempts. */
  readonly callDeadlineMs: number;
  /** The owner of the deadline; the call itself by default. */
  readonly deadlineClock?: 'call' | 'turn';
}

/**
 * The three clocks of an attempt on one timer. A piece of the answer only notes its time; the timer looks when it
 * fires and arms itself anew, since resetting a timer per piece costs more than reading the piece.
 */
export class AttemptClocks {
  readonly #time: CallTime;
  readonly #limits: ClockLimits;
  readonly #onExpired: (clock: Clock) => void;
  #timer: { cancel(): void } | undefined;
  #phase: 'waiting' | 'flowing' | 'held' | 'stopped' = 'waiting';
  #phaseStartedAt: number;

  constructor(time: CallTime, limits: ClockLimits, onExpired: (clock: Clock) => void) {
    this.#time = time;
    this.#limits = limits;
    this.#onExpired = onExpired;
    this.#phaseStartedAt = time.monotonicMs();
    this.#arm();
  }

  /** Notes the arrival of a piece of the answer. */
  progress(signal: boolean): void {
    if (this.#phase === 'stopped') return;
    if (this.#phase === 'waiting') {
      if (!signal) return;
      this.#phase = 'flowing';
      this.#phaseStartedAt = this.#time.monotonicMs();
      // The idle limit may end before the timer fires.
      this.#arm();
      return;
    }
    this.#phaseStartedAt = this.#time.monotonicMs();
  }

  /** The reader is slow and the vendor is not read: this pause does not count as the vendor's silence. */
  hold(): void {
    if (this.#phase === 'flowing') this.#phase = 'held';
  }

  release(): void {
    if (this.#phase !== 'held') return;
    this.#phase = 'flowing';
    this.#phaseStartedAt = this.#time.monotonicMs();
    this.#arm();
  }

  stop(): void {
    this.#phase = 'stopped';
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #phaseDeadline(): number {
    const { firstSignalMs, idleMs } = this.#limits;
    if (this.#phase === 'waiting') return this.#phaseStartedAt + (firstSignalMs ?? Number.POSITIVE_INFINITY);
    return this.#phase === 'flowing' ? this.#phaseStartedAt + idleMs : Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    this.#timer?.cancel();
    const at = Math.min(this.#limits.callDeadlineMs, this.#phaseDeadline());
    this.#timer = this.#time.after(Math.max(0, at - this.#time.monotonicMs()), () => this.#look());
  }

  #look(): void {
    if (this.#phase === 'stopped') return;
    if (this.#expired() === undefined) this.#arm();
    // After a blocked event loop, timers fire before new data is read. The data is read first, so that the platform's own
    // delay does not count as the vendor's silence.
    else this.#time.soon(() => this.#lookAgain());
  }

  #lookAgain(): void {
    if (this.#phase === 'stopped') return;
    const clock = this.#expired();
    if (clock === undefined) this.#arm();
    else this.#expire(clock);
  }

  #expired(): Clock | undefined {
    const now = this.#time.monotonicMs();
    if (now >= this.#limits.callDeadlineMs) return this.#limits.deadlineClock ?? 'call';
    if (now < this.#phaseDeadline()) return undefined;
    return this.#phase === 'waiting' ? 'first_signal' : 'idle';
  }

  #expire(clock: Clock): void {
    this.stop();
    this.#onExpired(clock);
  }
}
