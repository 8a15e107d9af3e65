import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

export const usageGroups = ['day', 'agent', 'model', 'key', 'user', 'source', 'payer'] as const;
export type UsageGroup = (typeof usageGroups)[number];

const groupRow = z.object({
  key: z.string(),
  calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost: z.number(),
});
export type UsageTotals = z.output<typeof groupRow>;

/** The key of a group; empty where a row has none. */
const keys = {
  day: sql.fragment`to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD')`,
  agent: sql.fragment`coalesce(agent_id::text, '')`,
  model: sql.fragment`vendor || '.' || model`,
  key: sql.fragment`coalesce(key_id::text, '')`,
  user: sql.fragment`coalesce(user_id::text, '')`,
  source: sql.fragment`source`,
  payer: sql.fragment`payer`,
} as const satisfies Record<UsageGroup, unknown>;

/** Sums of the closed attempts of a range. Costs are added as decimals, so that the order of the rows does not matter. */
export async function usageTotals(
  scope: TenantScope,
  tx: TenantTransaction,
  range: { readonly from: Date; readonly to: Date },
  group: UsageGroup,
): Promise<readonly UsageTotals[]> {
  const rows = await tx.any(sql.type(groupRow)`
    select ${keys[group]} as key, count(distinct call_id)::int8 as calls, sum(input_tokens)::int8 as input_tokens,
      sum(output_tokens)::int8 as output_tokens, sum(cost::numeric)::float8 as cost
    from usage_rows
    where tenant_id = ${scope.tenantId} and outcome is not null
      and opened_at >= ${range.from.toISOString()} and opened_at < ${range.to.toISOString()}
    group by 1 order by ${group === 'day' ? sql.fragment`1` : sql.fragment`sum(cost::numeric) desc, 1`}`);
  return rows;
}
