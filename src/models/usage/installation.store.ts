/** Model calls across tenants, for the operator alone. */
import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';
import type { UsageRange } from './totals.store.js';

export const installationGroups = ['tenant', 'model', 'day'] as const;
export type InstallationGroup = (typeof installationGroups)[number];

const totals = z.object({
  key: z.string(),
  calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost: z.number(),
});
export type InstallationTotals = z.output<typeof totals>;

const keys = {
  tenant: sql.fragment`f.tenant_id::text`,
  model: sql.fragment`f.model`,
  day: sql.fragment`to_char(f.at at time zone 'UTC', 'YYYY-MM-DD')`,
} as const satisfies Record<InstallationGroup, unknown>;

const sums = sql.fragment`sum(f.calls)::int8 as calls, sum(f.input_tokens)::int8 as input_tokens,
  sum(f.output_tokens)::int8 as output_tokens, sum(f.cost)::float8 as cost`;

/** Whole hours come from their sums, the partial hours at both ends from rows. */
export function installationTotals(
  tx: DirectoryTransaction,
  { from, to, hours }: Omit<UsageRange, 'days'>,
  group: InstallationGroup,
): Promise<readonly InstallationTotals[]> {
  const at = (moment: Date) => sql.fragment`${moment.toISOString()}::timestamptz`;
  return tx.any(sql.type(totals)`
    with facts as (
      select tenant_id, hour as at, model, calls, input_tokens, output_tokens, cost from call_hours
      where hour >= ${at(hours.from)} and hour < ${at(hours.to)} and calls > 0
      union all
      select tenant_id, started_at, model, 1, input_tokens, output_tokens, cost::numeric from calls
      where (started_at >= ${at(from)} and started_at < ${at(hours.from)})
        or (started_at >= ${at(hours.to)} and started_at < ${at(to)})
    )
    select ${keys[group]} as key, ${sums} from facts f
    group by 1 order by ${group === 'day' ? sql.fragment`1` : sql.fragment`sum(f.cost) desc, 1`}`);
}

const tenantTotals = totals.extend({ last_call_at: z.date().nullable() });
export type TenantTotals = z.output<typeof tenantTotals>;

/** The calls of these tenants since the beginning of an hour; a tenant without calls has no row. */
export async function totalsOfTenants(
  tx: DirectoryTransaction,
  tenantIds: readonly string[],
  from: Date,
): Promise<ReadonlyMap<string, TenantTotals>> {
  const rows = await tx.any(sql.type(tenantTotals)`
    select t.*, (select max(c.started_at) from calls c where c.tenant_id = t.tenant_id
        and c.started_at >= t.last_hour) as last_call_at
    from (
      select f.tenant_id, f.tenant_id::text as key, max(f.hour) as last_hour, ${sums} from call_hours f
      where f.tenant_id = any(${sql.array([...tenantIds], 'uuid')}) and f.hour >= ${from.toISOString()}
        and f.calls > 0
      group by 1
    ) t`);
  return new Map(rows.map((row) => [row.key, row]));
}
