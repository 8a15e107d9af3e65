import { z } from 'zod';
import { givenGuid } from '../../http/operations/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { logOrders } from './log.store.js';
import { momentText } from './range.js';

/** A number above `most` is reduced to `most`; anything else but a whole number from 1 is refused. */
function wholeNumber(fallback: number, most: number) {
  return z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((number) => number >= 1, 'must be at least 1')
    .transform((number) => Math.min(number, most))
    .default(fallback);
}

const name = z.string().min(1).max(200).optional();
const agent_id = givenGuid.optional();
const dates = { start_date: momentText.optional(), end_date: momentText.optional() };
const filters = { agent_id, provider: name, model: name, status: z.enum(['success', 'error']).optional() };

export const rangeQuery = z.object(dates);
export const agentRangeQuery = z.object({ ...dates, agent_id });

/** That a date is missing is told before anything else that is wrong. An empty value, as of an empty form, is none. */
const requiredDate = z
  .string()
  .optional()
  .transform((text) => {
    if (text === undefined || text === '') throw new PlatformError('TELEMETRY_MISSING_DATE_RANGE');
    return text;
  })
  .pipe(momentText);
export const metricsQuery = z.object({ start_date: requiredDate, end_date: requiredDate, ...filters });
export const logQuery = z.object({
  ...dates,
  ...filters,
  page: wholeNumber(1, 1_000_000),
  limit: wholeNumber(50, 100),
  order_by: z.enum(logOrders).default('timestamp'),
  order_dir: z.enum(['asc', 'desc']).default('desc'),
});
export const hoursQuery = z.object({ hours: wholeNumber(24, 168), agent_id });
export const sessionsQuery = z.object({ ...dates, agent_id, limit: wholeNumber(50, 100) });
