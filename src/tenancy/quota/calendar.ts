// Days and months of quotas are in UTC.

export const dayMs = 86_400_000;

let latest = { number: Number.NaN, text: '' };

/** Such as `2026-11-21`. Every model call asks for it, so the last day is cached. */
export function dayOf(wallMs: number): string {
  const number = Math.floor(wallMs / dayMs);
  if (latest.number !== number) latest = { number, text: new Date(wallMs).toISOString().slice(0, 10) };
  return latest.text;
}

interface Month {
  /** The first instant of the next month, as text. */
  readonly ends: string;
  readonly name: string;
  readonly startsMs: number;
  readonly endsMs: number;
}

/** The last requested month: nearly every request is about the current one, and dates are slow to make. */
let lastMonth: Month = { name: '', ends: '', startsMs: 0, endsMs: 0 };

function monthAt(wallMs: number): Month {
  if (wallMs >= lastMonth.startsMs && wallMs < lastMonth.endsMs) return lastMonth;
  const date = new Date(wallMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const endsMs = Date.UTC(year, month + 1, 1);
  lastMonth = {
    ends: new Date(endsMs).toISOString(),
    name: `${date.toISOString().slice(0, 7)}-01`,
    startsMs: Date.UTC(year, month, 1),
    endsMs,
  };
  return lastMonth;
}

/** The first day of the month, such as `2026-11-01`. */
export function monthOf(wallMs: number): string {
  return monthAt(wallMs).name;
}

export function nextDayMs(wallMs: number): number {
  return (Math.floor(wallMs / dayMs) + 1) * dayMs;
}

export function nextMonthMs(wallMs: number): number {
  return monthAt(wallMs).endsMs;
}

/** When the tokens of the month reset. */
export function monthResetAt(wallMs: number): string {
  return monthAt(wallMs).ends;
}
