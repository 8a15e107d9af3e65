import type { Time } from '../../../cluster/index.js';
import type { LiveTurn } from './live-turn.js';

/** Longer than any healthy edge takes to drop a queue in memory; one that says nothing is cut off. */
const passingMs = 1_000;

/** One who reads a turn's events: an edge, for one client. */
export interface Reader {
  readonly turn: LiveTurn;
  /** The barrier that it has not been told of yet; 0 where it knows the last one. */
  barrier: number;
  /** Its stream must end: it did not say in time that it had dropped what was taken back. */
  cut: boolean;
}

/**
 * The readers of a session's turns. A change of the control mode takes text back: each reader is told of a barrier,
 * drops what it has not sent, and says so; whoever stays silent is cut off.
 */
export class Readers {
  readonly #readers = new Map<string, Reader>();
  readonly #time: Time;
  #barrier = 0;
  readonly #waiting = new Map<string, () => void>();

  constructor(time: Time) {
    this.#time = time;
  }

  enter(follower: string, turn: LiveTurn): Reader {
    const reader: Reader = { turn, barrier: 0, cut: false };
    this.#readers.set(follower, reader);
    return reader;
  }

  leave(follower: string, reader: Reader): void {
    if (this.#readers.get(follower) !== reader) return;
    this.#readers.delete(follower);
    this.#settle(follower);
  }

  passed(follower: string, barrier: number): void {
    if (barrier >= this.#barrier) this.#settle(follower);
  }

  /** Resolves when every reader has dropped what was taken back, or was cut off. */
  async dropEverywhere(): Promise<void> {
    this.#barrier += 1;
    const waits = [...this.#readers].map(([follower, reader]) => {
      reader.barrier = this.#barrier;
      reader.turn.log.wake();
      return new Promise<void>((resolve) => this.#waiting.set(follower, resolve));
    });
    if (waits.length === 0) return;
    const timer = this.#time.after(passingMs, () => this.#cutWaiting());
    await Promise.all(waits);
    timer.cancel();
  }

  #cutWaiting(): void {
    for (const follower of this.#waiting.keys()) {
      const reader = this.#readers.get(follower);
      if (reader !== undefined) {
        reader.cut = true;
        reader.turn.log.wake();
      }
      this.#settle(follower);
    }
  }

  #settle(follower: string): void {
    this.#waiting.get(follower)?.();
    this.#waiting.delete(follower);
  }
}
