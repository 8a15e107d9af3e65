// A clock that moves only when the test moves it.
import type { Time, Timer } from '../../../cluster/index.js';

export class ManualTime implements Time {
  #wallMs: number;
  #monotonicMs = 1_000_000;
  readonly #timers = new Set<{ atMs: number; action: () => void }>();

  constructor(wall: string) {
    this.#wallMs = Date.parse(wall);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  after(delayMs: number, action: () => void): Timer {
    const timer = { atMs: this.#monotonicMs + delayMs, action };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** The number of timers that are set. */
  get pending(): number {
    return this.#timers.size;
  }

  soon(action: () => void): void {
    setImmediate(action);
  }

  /** Moves both clocks and runs the timers that become due, in order. */
  advance(byMs: number): void {
    const endMs = this.#monotonicMs + byMs;
    for (;;) {
      const due = [...this.#timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#moveTo(Math.max(due.atMs, this.#monotonicMs));
      due.action();
    }
    this.#moveTo(endMs);
  }

  /** Moves both clocks as if this process stood still meanwhile: due timers run late, with the next advance. */
  stall(forMs: number): void {
    this.#moveTo(this.#monotonicMs + forMs);
  }

  advanceTo(wall: string): void {
    this.advance(Date.parse(wall) - this.#wallMs);
  }

  /** Like a change by an operator or a time server: the monotonic clock is unaffected. */
  setWall(wall: string): void {
    this.#wallMs = Date.parse(wall);
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}
