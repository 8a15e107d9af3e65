/**
 * Counts the events of the last minute.
 *
 * The events of one whole second share an entry, which leaves a minute after the last of them. So the count is never
 * below the true one: no span of 60 s ever holds more than was allowed. It is exact for events that are seconds apart,
 * at most a second late for the first of a burst, and never needs more than 61 entries.
 */
export const windowMs = 60_000;
const entryMs = 1_000;

export class SlidingWindow {
  #lastMs: number[] = [];
  #counts: number[] = [];
  #used = 0;

  /** The number of events in the minute before `nowMs`. Times come from a monotonic clock. */
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

  /** Removes the newest event, as if it had not been counted. */
  refund(): void {
    const newest = this.#counts.length - 1;
    const count = this.#counts[newest];
    if (count === undefined) return;
    if (count > 1) this.#counts[newest] = count - 1;
    else this.#dropNewest();
    this.#used -= 1;
  }

  #dropNewest(): void {
    this.#counts.pop();
    this.#lastMs.pop();
  }

  /** The state that another process needs to continue the count: the ages of entries and their counts. */
  history(nowMs: number): { readonly agesMs: number[]; readonly counts: number[] } {
    this.used(nowMs);
    return { agesMs: this.#lastMs.map((lastMs) => nowMs - lastMs), counts: [...this.#counts] };
  }

  /** Adds the count of another process. Its entries may be older than the local ones. */
  merge(nowMs: number, agesMs: readonly number[], counts: readonly number[]): void {
    const entries = [
      ...this.#lastMs.map((lastMs, index) => ({ lastMs, count: this.#counts[index] ?? 0 })),
      ...agesMs.map((ageMs, index) => ({ lastMs: nowMs - ageMs, count: counts[index] ?? 0 })),
    ].sort((one, other) => one.lastMs - other.lastMs);
    this.#lastMs = entries.map(({ lastMs }) => lastMs);
    this.#counts = entries.map(({ count }) => count);
    this.#used = this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /**
   * When the window next has room: for a full one when it falls below `limit`, else when its oldest entry leaves. For an
   * empty one, when an event of now would leave.
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
