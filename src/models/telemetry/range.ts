/** Time ranges as the endpoints accept them. Reports read whole hours from sums and the rest from rows. */
import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';

export interface Range {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
}

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

const form = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?)?$/;

export interface Moment {
  readonly at: Date;
  /** A day without a time. */
  readonly isDay: boolean;
}

/** An ISO 8601 date, or date and time. Without an offset it is UTC. */
export const momentText = z.string().transform((text, context): Moment => {
  // A plus sign of an offset that was not percent-encoded arrives as a space.
  const found = form.exec(text.replace(/ (\d\d:\d\d)$/, '+$1'));
  const [, day = '', time, offset = 'Z'] = found ?? [];
  const at = new Date(time === undefined ? `${day}T00:00:00Z` : `${day}T${time}${offset}`);
  // `Date` counts an impossible day, such as February 30, on into the next month.
  const isReal = found !== null && !Number.isNaN(at.getTime()) && isDayOf(day);
  if (!isReal) {
    context.addIssue({ code: 'custom', message: 'must be an ISO 8601 date' });
    return z.NEVER;
  }
  return { at, isDay: time === undefined };
});

function isDayOf(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

/**
 * An end without a time includes its day. Without a start the range is the last `days` days before the end. Without an
 * end it ends now; a start in the future then gives an empty range.
 */
export function rangeOf(
  given: { readonly start_date?: Moment | undefined; readonly end_date?: Moment | undefined },
  nowMs: number,
  days: number,
): Range {
  const { start_date: start, end_date: end } = given;
  const presentMs = Math.max(nowMs, start?.at.getTime() ?? nowMs);
  const toMs = end === undefined ? presentMs + 1 : end.at.getTime() + (end.isDay ? dayMs : 1);
  const from = start?.at ?? new Date(toMs - 1 - days * dayMs);
  if (from.getTime() >= toMs) throw invalidField('start_date', 'must not be after end_date');
  return { from, to: new Date(toMs) };
}

/** The whole hours in a range; start and end are equal if there are none. */
export function wholeHours({ from, to }: Range): Range {
  const first = Math.ceil(from.getTime() / hourMs) * hourMs;
  const last = Math.floor(to.getTime() / hourMs) * hourMs;
  return first < last ? { from: new Date(first), to: new Date(last) } : { from: to, to };
}

/** The start of each hour that the range touches. */
export function hoursOf({ from, to }: Range): readonly Date[] {
  const first = Math.floor(from.getTime() / hourMs) * hourMs;
  const count = Math.ceil((to.getTime() - first) / hourMs);
  return Array.from({ length: count }, (_, nth) => new Date(first + nth * hourMs));
}

/** The last `count` hours, including the current one. */
export function lastHours(count: number, nowMs: number): Range {
  const present = Math.floor(nowMs / hourMs) * hourMs;
  return { from: new Date(present - (count - 1) * hourMs), to: new Date(present + hourMs) };
}
