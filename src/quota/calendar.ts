// Days and months of quotas are those of UTC.

export const dayMs = 86_400_000;

/** `2026-11-21` */
export function dayOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
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
