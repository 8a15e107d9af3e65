/** Time ranges as the endpoints accept them. Reports read whole days and hours from sums and the rest from rows. */
import { dayMs, type Moment, momentText, type Range, rangeOf } from '../../http/operations/index.js';

export { dayMs, type Moment, momentText, type Range };

const hourMs = 3_600_000;

/**
 * The range of a report: without a start it begins with an hour, and if it ends now or later, it ends with its hour. Then
 * sums of hours cover it, and no rows are added up: 6,000 calls of the present hour took 65 ms. Nothing begins after now.
 */
export function reportRange(given: Parameters<typeof rangeOf>[0], nowMs: number, days: number): Range {
  const { from, to } = rangeOf(given, nowMs, days);
  return {
    // The default start is a millisecond before the hour, if the end is a day.
    from: given.start_date === undefined ? new Date(startOfHour(from.getTime() + 1)) : from,
    to: to.getTime() > nowMs ? new Date(startOfHour(to.getTime() + hourMs - 1)) : to,
  };
}

function startOfHour(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs;
}

export interface RangeParts {
  /** The whole hours within a range. */
  readonly hours: Range;
  /** The whole days (UTC) within it. */
  readonly days: Range;
}

/** What sums cover of a range. A part without an hour or a day is empty, at the end of the part around it. */
export function partsOf(range: Range): RangeParts {
  const hours = wholeIn(range, hourMs);
  return { hours, days: wholeIn(hours, dayMs) };
}

function wholeIn({ from, to }: Range, unitMs: number): Range {
  const first = Math.ceil(from.getTime() / unitMs) * unitMs;
  const last = Math.floor(to.getTime() / unitMs) * unitMs;
  return first < last ? { from: new Date(first), to: new Date(last) } : { from: to, to };
}

/** The start of each hour that the range touches. */
export function hoursOf({ from, to }: Range): readonly Date[] {
  const first = startOfHour(from.getTime());
  const count = Math.ceil((to.getTime() - first) / hourMs);
  return Array.from({ length: count }, (_, nth) => new Date(first + nth * hourMs));
}

/** The last `count` hours, including the current one. */
export function lastHours(count: number, nowMs: number): Range {
  const present = startOfHour(nowMs);
  return { from: new Date(present - (count - 1) * hourMs), to: new Date(present + hourMs) };
}
