/**
 * How often something happened within the last minute.
 *
 * What happens within one whole second is one entry, which leaves a minute after the last of it happened. So the
 * count is never below the true one: no span of 60 s ever holds more than was allowed. It is exact for events that
 * are seconds apart, at most a second late for the first of a burst, and never needs more than 61 entries.
 */
export const windowMs = 60_000;
const entryMs = 1_000;

export class SlidingWindow {
  readonly #lastMs: number[] = [];
  readonly #counts: number[] = [];
  #used = 0;

  /** Events of the minute before `nowMs`. Times are of a clock that only rises. */
  used(nowMs: number): number {
    let first = this.#lastMs[0];
    while (first !== undefined && first + windowMs <= nowMs) {
      this.#used -= this.#counts.shift() ?? 0;
      this.#lastMs.shift();
      first = this.#lastMs[0];
    }
    return this.#used;
  }

  add(nowMs: number): void {
    const newest = this.#lastMs.length - 1;
    const newestMs = this.#lastMs[newest];
    if (newestMs !== undefined && Math.floor(newestMs / entryMs) === Math.floor(nowMs / entryMs)) {
      this.#lastMs[newest] = nowMs;
      this.#counts[newest] = (this.#counts[newest] ?? 0) + 1;
    } else {
      this.#lastMs.push(nowMs);
      this.#counts.push(1);
    }
    this.#used += 1;
  }

  /**
   * When the window next gives room: for a full one when it falls below `limit`, else when its oldest entry leaves.
   * For an empty one, when an event of now would leave.
   */
  roomAtMs(nowMs: number, limit: number): number {
    let above = Math.max(0, this.used(nowMs) - limit);
    for (const [index, count] of this.#counts.entries()) {
      if (count > above) return (this.#lastMs[index] ?? nowMs) + windowMs;
      above -= count;
    }
    return nowMs + windowMs;
  }

  isIdle(nowMs: number): boolean {
    return this.used(nowMs) === 0;
  }
}
