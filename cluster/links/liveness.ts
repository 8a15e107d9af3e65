import type { Time, Timer } from '../time/time.js';

/**
 * Detects a silent peer. The end that opened the link pings in every period, even while it receives frames: otherwise
 * the other end would receive nothing during a long stream.
 */
export class Liveness {
  readonly #time: Time;
  readonly #periodMs: number;
  readonly #silenceMs: number;
  readonly #ask: () => void;
  readonly #onSilent: () => void;
  #heardAtMs: number;
  #checkedAtMs: number;
  #timer: Timer | undefined;

  constructor(time: Time, periodMs: number, silenceMs: number, ask: () => void, onSilent: () => void) {
    this.#time = time;
    this.#periodMs = periodMs;
    this.#silenceMs = silenceMs;
    this.#ask = ask;
    this.#onSilent = onSilent;
    this.#heardAtMs = time.monotonicMs();
    this.#checkedAtMs = this.#heardAtMs;
    this.#arm();
  }

  heard(): void {
    this.#heardAtMs = this.#time.monotonicMs();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#time.after(this.#periodMs, () => this.#check());
  }

  #check(): void {
    const now = this.#time.monotonicMs();
    // This process itself was stopped: frames that the peer sent meanwhile have not been read yet.
    if (now - this.#checkedAtMs > 2 * this.#periodMs) this.#heardAtMs = now;
    this.#checkedAtMs = now;
    const silentMs = now - this.#heardAtMs;
    if (silentMs > this.#silenceMs) {
      this.#timer = undefined;
      this.#onSilent();
      return;
    }
    this.#ask();
    this.#arm();
  }
}
