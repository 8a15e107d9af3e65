import { z } from 'zod';

/** Money is counted in billionths of a dollar: whole numbers add up without drift. */
export const nanosPerDollar = 1_000_000_000;
/** Its billionths still fit a whole number of JavaScript. */
const usdMax = 1_000_000;

/** The most that a key, a tenant or an agent may spend in a day or a month (UTC). */
export const budgetShape = z.object({
  usd: z.number().min(1e-9).max(usdMax).describe('US dollars, counted to a billionth.'),
  period: z.enum(['day', 'month']),
});

export type Budget = Readonly<z.output<typeof budgetShape>>;

/** A cost or limit in billionths of a dollar. */
export function nanosOf(usd: number): number {
  return Math.round(usd * nanosPerDollar);
}

export function usdOf(nanos: number): number {
  return nanos / nanosPerDollar;
}
