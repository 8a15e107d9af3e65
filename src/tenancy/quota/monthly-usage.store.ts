import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Store, sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Tokens of the month that begins on `month`, such as `2026-11-01`. */
export async function readMonth(store: Store, scope: TenantScope, month: string): Promise<number> {
  const used = await store.inTenant(scope, (tx) =>
    tx.maybeOneFirst(sql.type(z.object({ used: z.number() }))`
      select used from quota_months where tenant_id = ${scope.tenantId} and month = ${month}::date`),
  );
  return used ?? 0;
}

/** Adds tokens in the transaction that records their use. */
export async function addToMonth(tx: TenantTransaction, month: string, tokens: number): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into quota_months as months (tenant_id, month, used)
    values (${tx.scope.tenantId}, ${month}::date, ${tokens}::bigint)
    on conflict (tenant_id, month) do update set used = months.used + excluded.used`);
}

/**
 * The same for rows of many tenants at once, as a part of the statement that writes them: `rows` names a relation with
 * `tenant_id`, `month` and `tokens`. Rows are added in key order, so that two batches do not deadlock.
 */
export function monthsAddedFrom(rows: string): string {
  return `insert into quota_months as months (tenant_id, month, used)
    select tenant_id, month, sum(tokens)::bigint from ${rows}
    group by tenant_id, month having sum(tokens) > 0 order by tenant_id, month
    on conflict (tenant_id, month) do update set used = months.used + excluded.used`;
}

/** The same for a relation of at most one row: without grouping, which takes longer than the row. */
export function monthAddedFrom(row: string): string {
  return `insert into quota_months as months (tenant_id, month, used)
    select tenant_id, month, tokens from ${row} where tokens > 0
    on conflict (tenant_id, month) do update set used = months.used + excluded.used`;
}

const nobody = '00000000-0000-0000-0000-000000000000';

/**
 * Adds the costs of closed attempts as a part of the statement that closes them: `rows` names a relation of usage rows.
 * A cost counts on the day on which its attempt began. Rows are added in key order, so that two batches do not deadlock.
 */
export function costsAddedFrom(rows: string): string {
  return `insert into spent_costs as spent (tenant_id, day, key_id, agent_id, nanos)
    select tenant_id, (opened_at at time zone 'UTC')::date as day, coalesce(key_id, '${nobody}') as key,
      coalesce(agent_id, '${nobody}') as agent, sum(round(cost::numeric * 1000000000))::bigint
    from ${rows} where cost > 0 group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_id, day, key_id, agent_id) do update set nanos = spent.nanos + excluded.nanos`;
}

/** The same for a relation of at most one row. */
export function costAddedFrom(row: string): string {
  return `insert into spent_costs as spent (tenant_id, day, key_id, agent_id, nanos)
    select tenant_id, (opened_at at time zone 'UTC')::date, coalesce(key_id, '${nobody}'),
      coalesce(agent_id, '${nobody}'), round(cost::numeric * 1000000000)::bigint
    from ${row} where cost > 0
    on conflict (tenant_id, day, key_id, agent_id) do update set nanos = spent.nanos + excluded.nanos`;
}
