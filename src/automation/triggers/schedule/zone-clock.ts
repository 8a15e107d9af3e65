/**
 * The clock on the wall of a time zone. Wall-clock times are written as the milliseconds that UTC would have where it
 * shows the same, so that they can be compared and counted like instants.
 *
 * A wall clock jumps: forwards where summer time begins, so that some times never come; back where it ends, so that
 * some come twice. `reaches` answers for every one of them, with one rule that has no exceptions: the first moment at
 * which the clock shows that time or a later one. What is skipped is reached where the gap ends, what comes twice is
 * reached the first time, and a later time is never reached earlier.
 */
const secondMs = 1_000;
const dayMs = 86_400_000;
/** The furthest that a clock was ever set at once: a whole day, where a country changed sides of the date line. */
const jumpMs = dayMs + 3_600_000;

export class ZoneClock {
  readonly #format: Intl.DateTimeFormat;

  /** Throws a RangeError for a zone that is not known. */
  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** What the clock shows at that instant, in whole seconds. */
  shows(instantMs: number): number {
    const parts = new Map(this.#format.formatToParts(instantMs).map(({ type, value }) => [type, value]));
    const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
    return Date.UTC(
      number('year'),
      number('month') - 1,
      number('day'),
      number('hour'),
      number('minute'),
      number('second'),
    );
  }

  /** The first instant at which the clock shows that time or a later one. */
  reaches(wallMs: number): number {
    const candidates = [this.#offsetMs(wallMs - dayMs), this.#offsetMs(wallMs + dayMs)].map(
      (offsetMs) => wallMs - offsetMs,
    );
    const valid = candidates.filter((instantMs) => this.shows(instantMs) === wallMs);
    if (valid.length > 0) return Math.min(...valid);
    // Never shown: somewhere between the two candidates the clock jumps over it.
    let [before, after] = [Math.min(...candidates), Math.max(...candidates)];
    while (after - before > secondMs) {
      const middle = wholeSecond((before + after) / 2);
      if (this.shows(middle) < wallMs) before = middle;
      else after = middle;
    }
    return after;
  }

  /** The latest time that was reached by then. Where the clock was set back it has shown later times already. */
  reachedBy(instantMs: number): number {
    const atMs = wholeSecond(instantMs);
    let low = this.shows(atMs);
    if (this.reaches(low) === atMs) return low;
    let high = low + jumpMs;
    while (high - low > secondMs) {
      const middle = wholeSecond((low + high) / 2);
      if (this.reaches(middle) <= atMs) low = middle;
      else high = middle;
    }
    return low;
  }

  #offsetMs(instantMs: number): number {
    return this.shows(instantMs) - instantMs;
  }
}

export function wholeSecond(ms: number): number {
  return Math.floor(ms / secondMs) * secondMs;
}
