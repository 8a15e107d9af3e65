import type { Time } from '../../../cluster/index.js';
import type { LiveTurn } from './live-turn.js';
import { joinedMax, refuseAbove } from './reader-limits.js';

/** Longer than a healthy edge needs to drop a queue in memory; a reader that does not confirm in time is cut off. */
export const passingMs = 1_000;

/** A reader of a turn's events: an edge, for one client. */
export interface Reader {
  readonly turn: LiveTurn;
  /** It came to a turn that another request had begun. */
  readonly joined: boolean;
  /** The barrier that the reader has not been sent yet; 0 if it was sent the last one. */
  barrier: number;
  /** Its stream must end: it did not confirm in time that it dropped the retracted text. */
  cut: boolean;
}

/**
 * The readers of a session's turns. When a change of the control mode retracts text, each reader is sent a barrier,
 * drops what it has not sent, and confirms. A reader that stays silent is cut off.
 */
export class Readers {
  readonly #readers = new Map<string, Reader>();
  readonly #time: Time;
  #barrier = 0;
  readonly #waiting = new Map<string, () => void>();

  constructor(time: Time) {
    this.#time = time;
  }

  /** Refuses a reader that joins a turn above the limit. One that comes back after a lost link has its place. */
  admit(follower: string): void {
    if (this.#readers.get(follower)?.joined === true) return;
    const joined = [...this.#readers.values()].filter((reader) => reader.joined);
    refuseAbove(joinedMax, joined.length, 'joined its turns', this.#time);
  }

  enter(follower: string, turn: LiveTurn, joined: boolean): Reader {
    const reader: Reader = { turn, joined, barrier: 0, cut: false };
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

  /** Resolves when every reader has dropped the retracted text or was cut off. */
  async dropEverywhere(): Promise<void> {
    this.#barrier += 1;
    const waits = [...this.#readers].map(([follower, reader]) => {
      reader.barrier = this.#barrier;
      reader.turn.log.wake();
      // A change that overlaps an earlier one waits for the same reader: its confirmation answers both.
      const earlier = this.#waiting.get(follower);
      return new Promise<void>((resolve) => {
        this.#waiting.set(follower, () => {
          earlier?.();
          resolve();
        });
      });
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
