/** Model calls across tenants, for the operator alone. */
import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

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
  tenant: sql.fragment`tenant_id::text`,
  model: sql.fragment`provider || '.' || model`,
  day: sql.fragment`to_char(started_at at time zone 'UTC', 'YYYY-MM-DD')`,
} as const satisfies Record<InstallationGroup, unknown>;

const sums = sql.fragment`count(*)::int8 as calls, sum(input_tokens)::int8 as input_tokens,
  sum(output_tokens)::int8 as output_tokens, sum(cost::numeric)::float8 as cost`;

export function installationTotals(
  tx: DirectoryTransaction,
  range: { readonly from: Date; readonly to: Date },
  group: InstallationGroup,
): Promise<readonly InstallationTotals[]> {
  return tx.any(sql.type(totals)`
    select ${keys[group]} as key, ${sums} from calls
    where started_at >= ${range.from.toISOString()} and started_at < ${range.to.toISOString()}
    group by 1 order by ${group === 'day' ? sql.fragment`1` : sql.fragment`sum(cost::numeric) desc, 1`}`);
}

const tenantTotals = totals.extend({ last_call_at: z.date() });
export type TenantTotals = z.output<typeof tenantTotals>;

/** The calls of these tenants since a time; a tenant without calls has no row. */
export async function totalsOfTenants(
  tx: DirectoryTransaction,
  tenantIds: readonly string[],
  from: Date,
): Promise<ReadonlyMap<string, TenantTotals>> {
  const rows = await tx.any(sql.type(tenantTotals)`
    select tenant_id::text as key, ${sums}, max(started_at) as last_call_at from calls
    where tenant_id = any(${sql.array([...tenantIds], 'uuid')}) and started_at >= ${from.toISOString()}
    group by 1`);
  return new Map(rows.map((row) => [row.key, row]));
}
