import { z } from 'zod';
import type { Budget } from '../../kernel/budget.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type Removal,
  removalFrom,
  type Store,
  sql,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import type { BudgetScope } from './budgets.js';

/** Longer than the longest period of a budget. */
const daysKept = 62;

/**
 * Deletes at most `rowsMax` costs of periods that are over and returns how many there were. By the clock of PostgreSQL: a
 * node whose clock is ahead would take all costs from the budgets.
 */
export async function forgetCosts(tx: TenantTransaction, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from spent_costs where (tenant_id, day, key_id, agent_id) in (
      select tenant_id, day, key_id, agent_id from spent_costs
      where tenant_id = ${tenantId}
        and day < (now() at time zone 'UTC')::date - ${daysKept}::integer
      order by day limit ${rowsMax})`);
  return rowCount;
}

/** For a tenant that is being deleted. */
export const costRemovals: readonly Removal[] = [removalFrom(sql.fragment`spent_costs`)];

/** The costs of the days from `since` on, such as `2026-11-01`, in billionths of a dollar. */
export function readSpent(
  store: Store,
  scope: TenantScope,
  of: { readonly scope: BudgetScope; readonly id: string; readonly since: string },
): Promise<number> {
  const those =
    of.scope === 'tenant'
      ? sql.fragment``
      : of.scope === 'key'
        ? sql.fragment`and key_id = ${of.id}`
        : sql.fragment`and agent_id = ${of.id}`;
  return store.inTenant(scope, (tx) =>
    tx.oneFirst(sql.type(z.object({ nanos: z.number() }))`
      select coalesce(sum(nanos), 0)::bigint as nanos from spent_costs
      where tenant_id = ${scope.tenantId} and day >= ${of.since}::date ${those}`),
  );
}

export interface NoticeKey {
  readonly scope: BudgetScope;
  readonly id: string;
  readonly period: Budget['period'];
  readonly starts: string;
  readonly percent: 80 | 100;
}

/** False if it was noted before: of several processes that see a threshold, one tells of it. */
export async function noteThreshold(tx: TenantTransaction, notice: NoticeKey): Promise<boolean> {
  const { tenantId } = tx.scope;
  await tx.query(sql.typeAlias('nothing')`
    delete from budget_notices where tenant_id = ${tenantId} and starts < ${notice.starts}::date - ${daysKept}::integer`);
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    insert into budget_notices (tenant_id, scope, subject, period, starts, percent)
    values (${tenantId}, ${notice.scope}, ${notice.id}, ${notice.period}, ${notice.starts}::date, ${notice.percent})
    on conflict do nothing`);
  return rowCount === 1;
}
