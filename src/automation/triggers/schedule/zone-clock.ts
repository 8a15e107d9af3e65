/**
 * The wall clock of a time zone. Wall-clock times are written as the UTC milliseconds that show the same time, so that
 * they can be compared like instants. The clock jumps forwards when daylight saving begins (some times never occur) and
 * back when it ends (some occur twice). `reaches` has one rule for all: the first instant at which the clock shows that
 * time or a later one. A skipped time is reached at the end of the gap, a repeated time at its first occurrence, and a
 * later time is never reached earlier.
 */
const secondMs = 1_000;
const dayMs = 86_400_000;
/** The largest jump of any clock: a whole day, when a country crossed the date line. */
const jumpMs = dayMs + 3_600_000;

export class ZoneClock {
  readonly #format: Intl.DateTimeFormat;

  /** Throws a RangeError for an unknown zone. */
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

  /** The wall-clock time at the instant, in whole seconds. */
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
    // Never shown: the clock jumps over it between the two candidates.
    let [before, after] = [Math.min(...candidates), Math.max(...candidates)];
    while (after - before > secondMs) {
      const middle = wholeSecond((before + after) / 2);
      if (this.shows(middle) < wallMs) before = middle;
      else after = middle;
    }
    return after;
  }

  /**
   * The latest wall-clock time reached by the instant. After the clock was set back, it has already shown later times.
   */
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
