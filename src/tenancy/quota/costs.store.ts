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

/** The costs of the period that begins on `starts`, such as `2026-11-01`, in billionths of a dollar. */
export function readSpent(
  store: Store,
  scope: TenantScope,
  of: {
    readonly scope: BudgetScope;
    readonly id: string;
    readonly period: Budget['period'];
    readonly starts: string;
  },
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
      where tenant_id = ${scope.tenantId} and day >= ${of.starts}::date
        and day < ${of.starts}::date + ${`1 ${of.period}`}::interval ${those}`),
  );
}

export interface NoticeKey {
  readonly scope: BudgetScope;
  readonly id: string;
  readonly period: Budget['period'];
  readonly starts: string;
  readonly percent: 80 | 100;
  /** In billionths of a dollar. */
  readonly limit: number;
}

/**
 * False if it was noted before: of several processes that see a threshold, one tells of it. Each limit of a budget has
 * thresholds of its own. A notice without a limit is one of a node of version 0.1, or from before the upgrade: it counts
 * for the limit that is seen first.
 */
export async function noteThreshold(tx: TenantTransaction, notice: NoticeKey): Promise<boolean> {
  const { tenantId } = tx.scope;
  const isOld = sql.fragment`tenant_id = ${tenantId}
    and starts < least(${notice.starts}::date, (now() at time zone 'UTC')::date) - ${daysKept}::integer`;
  await tx.query(sql.typeAlias('nothing')`delete from budget_notices where ${isOld}`);
  await tx.query(sql.typeAlias('nothing')`delete from budget_limit_notices where ${isOld}`);
  const key = sql.fragment`${tenantId}::uuid, ${notice.scope}, ${notice.id}::uuid, ${notice.period},
    ${notice.starts}::date, ${notice.percent}::smallint`;
  const first = await tx.query(sql.typeAlias('nothing')`
    insert into budget_notices (tenant_id, scope, subject, period, starts, percent) values (${key})
    on conflict do nothing`);
  const ofLimit = await tx.query(sql.typeAlias('nothing')`
    insert into budget_limit_notices (tenant_id, scope, subject, period, starts, percent, limit_nanos)
    values (${key}, ${notice.limit}) on conflict do nothing`);
  if (ofLimit.rowCount === 0 || first.rowCount === 1) return ofLimit.rowCount === 1;
  return tx.exists(sql.unsafe`
    select 1 from budget_limit_notices
    where (tenant_id, scope, subject, period, starts, percent) = (${key}) and limit_nanos <> ${notice.limit}`);
}
