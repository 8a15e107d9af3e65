import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

export const usageGroups = ['day', 'agent', 'model', 'key', 'user', 'source', 'payer'] as const;
export type UsageGroup = (typeof usageGroups)[number];

const figures = {
  calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost: z.number(),
};
const totalsRow = z.object({ key: z.string().nullable(), is_total: z.boolean(), ...figures });
export type UsageTotals = z.output<z.ZodObject<typeof figures>>;

export interface UsageReport {
  readonly total: UsageTotals;
  readonly groups: readonly (UsageTotals & { readonly key: string })[];
}

const nobody = '00000000-0000-0000-0000-000000000000';

/** The key of a group; empty where an attempt has none. */
const keys = {
  day: sql.fragment`to_char(f.hour at time zone 'UTC', 'YYYY-MM-DD')`,
  agent: sql.fragment`coalesce(nullif(f.agent_id, ${nobody}::uuid)::text, '')`,
  model: sql.fragment`f.model`,
  key: sql.fragment`coalesce(nullif(f.key_id, ${nobody}::uuid)::text, '')`,
  user: sql.fragment`coalesce(nullif(f.user_id, ${nobody}::uuid)::text, '')`,
  source: sql.fragment`f.call_source`,
  payer: sql.fragment`f.payer`,
} as const satisfies Record<UsageGroup, unknown>;

export interface UsageRange {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** The whole hours within the range; both ends are equal if there are none. */
  readonly whole: { readonly from: Date; readonly to: Date };
}

/**
 * Sums of the closed attempts of a range: of whole hours from their sums, of the partial hours at both ends from rows. A
 * call counts with its first attempt, so that each call counts once whatever the groups are.
 */
export async function usageTotals(
  scope: TenantScope,
  tx: TenantTransaction,
  { from, to, whole }: UsageRange,
  group: UsageGroup,
): Promise<UsageReport> {
  const at = (moment: Date) => sql.fragment`${moment.toISOString()}::timestamptz`;
  const rows = await tx.any(sql.type(totalsRow)`
    with facts as (
      select h.hour, h.agent_id, h.model, h.key_id, h.user_id, h.call_source, h.payer, h.ledger_calls as calls,
        h.ledger_input_tokens as input_tokens, h.ledger_output_tokens as output_tokens, h.ledger_cost as cost
      from call_hours h
      where h.tenant_id = ${scope.tenantId} and h.hour >= ${at(whole.from)} and h.hour < ${at(whole.to)}
        and h.payer <> 'none'
      union all
      select u.opened_at, u.agent_id, u.model, u.key_id, u.user_id, u.source, u.payer, (u.attempt_number = 1)::int,
        u.input_tokens, u.output_tokens, u.cost::numeric
      from usage_rows u
      where u.tenant_id = ${scope.tenantId} and u.outcome is not null
        and ((u.opened_at >= ${at(from)} and u.opened_at < ${at(whole.from)})
          or (u.opened_at >= ${at(whole.to)} and u.opened_at < ${at(to)}))
    ),
    keyed as (select ${keys[group]} as key, f.calls, f.input_tokens, f.output_tokens, f.cost from facts f)
    select key, grouping(key) = 1 as is_total, coalesce(sum(calls), 0)::int8 as calls,
      coalesce(sum(input_tokens), 0)::int8 as input_tokens, coalesce(sum(output_tokens), 0)::int8 as output_tokens,
      coalesce(sum(cost), 0)::float8 as cost
    from keyed group by grouping sets ((key), ())
    order by ${group === 'day' ? sql.fragment`key` : sql.fragment`sum(cost) desc, key`}`);
  const total = rows.find(({ is_total: isTotal }) => isTotal);
  return {
    total: figuresOf(total ?? { calls: 0, input_tokens: 0, output_tokens: 0, cost: 0 }),
    groups: rows.flatMap((row) => (row.is_total ? [] : [{ key: row.key ?? '', ...figuresOf(row) }])),
  };
}

function figuresOf({ calls, input_tokens, output_tokens, cost }: UsageTotals): UsageTotals {
  return { calls, input_tokens, output_tokens, cost };
}
