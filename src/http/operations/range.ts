/** Time ranges as the endpoints accept them. */
import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';

export interface Range {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
}

export const dayMs = 24 * 3_600_000;

const form = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/;
/** A plus sign of an offset that was not percent-encoded arrives as a space. A time after a date has one before it too. */
const spacedOffset = /(:\d\d(?:\.\d+)?) (\d\d(?::?\d\d)?)$/;

/** PostgreSQL reads the years from 1 to 9999. Nothing happened before or after them, so a range may end at their bounds. */
const earliestMs = Date.parse('0001-01-01T00:00:00Z');
const latestMs = Date.parse('9999-12-31T00:00:00Z');

function storable(ms: number): Date {
  return new Date(Math.min(Math.max(ms, earliestMs), latestMs));
}

export interface Moment {
  readonly at: Date;
  /** A day without a time. */
  readonly isDay: boolean;
}

/** An ISO 8601 date, or date and time. Without an offset it is UTC. */
export const momentText = z.string().transform((text, context): Moment => {
  const found = form.exec(text.replace(spacedOffset, '$1+$2'));
  const [, day = '', time, offset = 'Z'] = found ?? [];
  // `Date` takes no offset of hours alone.
  const zone = offset.length === 3 ? `${offset}:00` : offset;
  const at = new Date(time === undefined ? `${day}T00:00:00Z` : `${day}T${time}${zone}`);
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
  const fromMs = start?.at.getTime() ?? toMs - 1 - days * dayMs;
  if (fromMs >= toMs) throw invalidField('start_date', 'must not be after end_date');
  return { from: storable(fromMs), to: storable(toMs) };
}

/** The bounds of a list that shows everything unless they are given. An end without a time includes its day. */
export function boundsOf({
  start_date: start,
  end_date: end,
}: {
  readonly start_date?: Moment | undefined;
  readonly end_date?: Moment | undefined;
}): Partial<Range> {
  const fromMs = start?.at.getTime();
  const toMs = end === undefined ? undefined : end.at.getTime() + (end.isDay ? dayMs : 1);
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs)
    throw invalidField('start_date', 'must not be after end_date');
  return {
    ...(fromMs !== undefined && { from: storable(fromMs) }),
    ...(toMs !== undefined && { to: storable(toMs) }),
  };
}

export const rangeQuery = z.object({ start_date: momentText.optional(), end_date: momentText.optional() });
