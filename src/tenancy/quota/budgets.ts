import { type Budget, nanosOf, usdOf } from '../../kernel/budget.js';
import { PlatformError } from '../../kernel/errors.js';
import { dayOf, monthOf, nextDayMs, nextMonthMs } from './calendar.js';

export type BudgetScope = 'key' | 'tenant' | 'agent';

/** A budget that a call counts against. */
export interface AppliedBudget {
  readonly scope: BudgetScope;
  /** The id of the key, the tenant or the agent. */
  readonly id: string;
  /** In billionths of a dollar. */
  readonly limit: number;
  readonly period: Budget['period'];
}

export function appliedBudget(scope: BudgetScope, id: string, { usd, period }: Budget): AppliedBudget {
  return { scope, id, limit: nanosOf(usd), period };
}

/** The first day of the period that holds the moment, in UTC. */
export function startOf(period: Budget['period'], wallMs: number): string {
  return period === 'day' ? dayOf(wallMs) : monthOf(wallMs);
}

/** Whether the period that begins on `starts` includes the day. A day that is unknown is one of every period. */
export function isWithin(
  { budget, starts }: { readonly budget: AppliedBudget; readonly starts: string },
  day: string | undefined,
): boolean {
  if (day === undefined) return true;
  return budget.period === 'day' ? day === starts : day.slice(0, 7) === starts.slice(0, 7);
}

export function endMsOf(period: Budget['period'], wallMs: number): number {
  return period === 'day' ? nextDayMs(wallMs) : nextMonthMs(wallMs);
}

export function budgetSpent(budget: AppliedBudget, spent: number, wallMs: number): PlatformError {
  const { scope, limit, period } = budget;
  const endsMs = endMsOf(period, wallMs);
  return new PlatformError('quota_exceeded', {
    message: `The budget of the ${scope} for this ${period} is spent. Wait for its reset, or raise the budget.`,
    details: {
      kind: 'budget',
      scope,
      limit_usd: usdOf(limit),
      spent_usd: usdOf(spent),
      resets_at: new Date(endsMs).toISOString(),
    },
    retryAfterSeconds: Math.max(1, Math.ceil((endsMs - wallMs) / 1_000)),
  });
}
