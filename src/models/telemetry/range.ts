/** Stretches of time as the endpoints take them, and how they are read: whole hours from sums, the rest from rows. */
import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';

export interface Range {
  readonly from: Date;
  /** The first moment that is not in it. */
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

/** A date or a date and time of ISO 8601; UTC where no offset is given. */
export const momentText = z.string().transform((text, context): Moment => {
  // An offset's plus sign that nobody encoded arrives as a space.
  const found = form.exec(text.replace(/ (\d\d:\d\d)$/, '+$1'));
  const [, day = '', time, offset = 'Z'] = found ?? [];
  const at = new Date(time === undefined ? `${day}T00:00:00Z` : `${day}T${time}${offset}`);
  // A day that no month has would be counted on into the next.
  const isReal = found !== null && !Number.isNaN(at.getTime()) && isDayOf(day);
  if (!isReal) {
    context.addIssue({ code: 'custom', message: 'must be a date of ISO 8601' });
    return z.NEVER;
  }
  return { at, isDay: time === undefined };
});

function isDayOf(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

/**
 * A bare end includes its day; what is missing means the last `days` days. Without an end, nothing has happened yet
 * behind a beginning that is still to come.
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
  if (from.getTime() >= toMs) throw invalidField('start_date', 'lies behind end_date');
  return { from, to: new Date(toMs) };
}

/** The whole hours in a range; the same moment twice where there are none. */
export function wholeHours({ from, to }: Range): Range {
  const first = Math.ceil(from.getTime() / hourMs) * hourMs;
  const last = Math.floor(to.getTime() / hourMs) * hourMs;
  return first < last ? { from: new Date(first), to: new Date(last) } : { from: to, to };
}

/** The beginnings of the hours that a range touches. */
export function hoursOf({ from, to }: Range): readonly Date[] {
  const first = Math.floor(from.getTime() / hourMs) * hourMs;
  const count = Math.ceil((to.getTime() - first) / hourMs);
  return Array.from({ length: count }, (_, nth) => new Date(first + nth * hourMs));
}

/** The last hours, the present one among them. */
export function lastHours(count: number, nowMs: number): Range {
  const present = Math.floor(nowMs / hourMs) * hourMs;
  return { from: new Date(present - (count - 1) * hourMs), to: new Date(present + hourMs) };
}
