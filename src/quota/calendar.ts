// Days and months of quotas are those of UTC.

export const dayMs = 86_400_000;

let latest = { number: Number.NaN, text: '' };

/** `2026-11-21`. Asked for with every model call, so the day that was asked for last is kept. */
export function dayOf(wallMs: number): string {
  const number = Math.floor(wallMs / dayMs);
  if (latest.number !== number) latest = { number, text: new Date(wallMs).toISOString().slice(0, 10) };
  return latest.text;
}

/** The first day of the month, `2026-11-01`. */
export function monthOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 7)}-01`;
}

export function nextDayMs(wallMs: number): number {
  return (Math.floor(wallMs / dayMs) + 1) * dayMs;
}

export function nextMonthMs(wallMs: number): number {
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
