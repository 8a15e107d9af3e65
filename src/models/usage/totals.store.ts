import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Store, sql, type TenantTransaction } from '../../infra/storage/index.js';

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

const dayRow = z.object({ key: z.string(), day: z.string(), ...figures });
export type UsageDay = UsageTotals & { readonly day: string };

export interface UsageReport {
  readonly total: UsageTotals;
  readonly groups: readonly (UsageTotals & { readonly key: string })[];
  /** Of the costliest groups, by their key. */
  readonly days?: ReadonlyMap<string, readonly UsageDay[]>;
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
  /** The whole hours and the whole days (UTC) within the range, or empty ranges at its end. */
  readonly hours: { readonly from: Date; readonly to: Date };
  readonly days: { readonly from: Date; readonly to: Date };
}

/**
 * Sums of the closed attempts of a range: of whole days and whole hours from their sums, of the partial hours at both ends
 * from rows. A call counts with its first attempt, so that each call counts once whatever the groups are.
 */
export async function usageTotals(
  scope: TenantScope,
  tx: TenantTransaction,
  range: UsageRange,
  group: UsageGroup,
): Promise<UsageReport> {
  const rows = await tx.any(sql.type(totalsRow)`
    with facts as (${factsOf(scope, range)}),
    keyed as (select ${keys[group]} as key, f.calls, f.input_tokens, f.output_tokens, f.cost from facts f)
    select key, grouping(key) = 1 as is_total, ${sums}
    from keyed group by grouping sets ((key), ())
    order by ${group === 'day' ? sql.fragment`key` : sql.fragment`sum(cost) desc, key`}`);
  const total = rows.find(({ is_total: isTotal }) => isTotal);
  return {
    total: figuresOf(total ?? { calls: 0, input_tokens: 0, output_tokens: 0, cost: 0 }),
    groups: rows.flatMap((row) => (row.is_total ? [] : [{ key: row.key ?? '', ...figuresOf(row) }])),
  };
}

/** The same, and the sums of the costliest groups day by day, which add up to those of the groups. */
export function usageByDay(
  store: Store,
  scope: TenantScope,
  range: UsageRange,
  { group, groupsMax }: { readonly group: UsageGroup; readonly groupsMax: number },
): Promise<UsageReport> {
  return store.inTenant(
    scope,
    async (tx) => {
      const report = await usageTotals(scope, tx, range, group);
      const costliest = report.groups.slice(0, groupsMax).map(({ key }) => key);
      return { ...report, days: await usageDays(scope, tx, range, group, costliest) };
    },
    { ofOneMoment: true },
  );
}

/** A day (UTC) without calls has no sums. */
async function usageDays(
  scope: TenantScope,
  tx: TenantTransaction,
  range: UsageRange,
  group: UsageGroup,
  chosen: readonly string[],
): Promise<ReadonlyMap<string, readonly UsageDay[]>> {
  const rows = await tx.any(sql.type(dayRow)`
    with facts as (${factsOf(scope, range)}),
    keyed as (
      select ${keys[group]} as key, ${keys.day} as day, f.calls, f.input_tokens, f.output_tokens, f.cost from facts f
    )
    select key, day, ${sums} from keyed where key = any(${sql.array([...chosen], 'text')})
    group by key, day order by day`);
  const found = new Map<string, UsageDay[]>();
  for (const { key, day, ...sum } of rows) {
    const all = found.get(key) ?? [];
    all.push({ day, ...figuresOf(sum) });
    found.set(key, all);
  }
  return found;
}

const sums = sql.fragment`coalesce(sum(calls), 0)::int8 as calls,
      coalesce(sum(input_tokens), 0)::int8 as input_tokens, coalesce(sum(output_tokens), 0)::int8 as output_tokens,
      coalesce(sum(cost), 0)::float8 as cost`;

/** The rows that the sums of a range are made of. */
function factsOf(scope: TenantScope, { from, to, hours, days }: UsageRange) {
  const at = (moment: Date) => sql.fragment`${moment.toISOString()}::timestamptz`;
  // Days that are not summed yet are read as hours.
  const summed = sql.fragment`(select greatest(${at(days.from)}, least(${at(days.to)}, coalesce(max(summed_to), '-infinity')))
    from summed_days where tenant_id = ${scope.tenantId})`;
  const ofHours = (within: ReturnType<typeof at>) => sql.fragment`
      select h.hour, h.agent_id, h.model, h.key_id, h.user_id, h.call_source, h.payer, h.ledger_calls as calls,
        h.ledger_input_tokens as input_tokens, h.ledger_output_tokens as output_tokens, h.ledger_cost as cost
      from call_hours h where h.tenant_id = ${scope.tenantId} and ${within} and h.payer <> 'none'`;
  return sql.fragment`
      select d.day as hour, d.agent_id, d.model, d.key_id, d.user_id, d.call_source, d.payer, d.calls, d.input_tokens,
        d.output_tokens, d.cost
      from ledger_days d where d.tenant_id = ${scope.tenantId} and d.day >= ${at(days.from)} and d.day < ${summed}
      union all ${ofHours(sql.fragment`h.hour >= ${at(hours.from)} and h.hour < ${at(days.from)}`)}
      union all ${ofHours(sql.fragment`h.hour >= ${summed} and h.hour < ${at(hours.to)}`)}
      union all
      select u.opened_at, u.agent_id, u.model, u.key_id, u.user_id, u.source, u.payer, (u.attempt_number = 1)::int,
        u.input_tokens, u.output_tokens, u.cost::numeric
      from usage_rows u
      where u.tenant_id = ${scope.tenantId} and u.outcome is not null
        and ((u.opened_at >= ${at(from)} and u.opened_at < ${at(hours.from)})
          or (u.opened_at >= ${at(hours.to)} and u.opened_at < ${at(to)}))`;
}

function figuresOf({ calls, input_tokens, output_tokens, cost }: UsageTotals): UsageTotals {
  return { calls, input_tokens, output_tokens, cost };
}
