import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { partsOf, type Range, type RangeParts } from './range.js';
import type { Share } from './totals.js';

export interface CallFilter {
  readonly agentId?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly status?: 'success' | 'error' | undefined;
}

const totals = {
  calls: z.number(),
  vendor_calls: z.number(),
  tokens: z.number(),
  cost: z.number(),
  response_time_ms: z.number(),
  latency: z.string().transform(BigInt),
  cache_hits: z.number(),
  cached_tokens: z.number(),
  cache_creation_tokens: z.number(),
  fallbacks: z.number(),
};
const shareRow = z.object({
  ...totals,
  agent_id: z.string().nullable(),
  provider: z.string(),
  model: z.string(),
  call_source: z.string(),
  status: z.enum(['success', 'error']),
  failure: z.string(),
});
const hourRow = z.object({ hour: z.date(), calls: z.number(), tokens: z.number(), cost: z.number() });
export type HourSums = z.output<typeof hourRow>;

const dayRow = z.object({ day: z.string(), cache_hits: z.number(), cached_tokens: z.number() });
export type DaySums = z.output<typeof dayRow>;

const summed = sql.fragment`
  sum(calls)::bigint as calls, sum(vendor_calls)::bigint as vendor_calls, sum(tokens)::bigint as tokens,
  sum(cost)::float8 as cost, sum(response_time_ms)::float8 as response_time_ms, sum(latency)::text as latency, sum(cache_hits)::bigint as cache_hits,
  sum(cached_tokens)::bigint as cached_tokens, sum(cache_creation_tokens)::bigint as cache_creation_tokens,
  sum(fallbacks)::bigint as fallbacks`;

const at = (moment: Date) => sql.fragment`${moment.toISOString()}::timestamptz`;

/** Until when the days of a range are summed: later days are read as hours. */
function summedTo(tx: TenantTransaction, { days }: RangeParts) {
  return sql.fragment`(select greatest(${at(days.from)}, least(${at(days.to)}, coalesce(max(summed_to), '-infinity')))
    from reports.summed_days where tenant_id = ${tx.scope.tenantId})`;
}

const ofSums = sql.fragment`
  nullif(h.agent_id, '00000000-0000-0000-0000-000000000000'::uuid) as agent_id, h.provider, h.model, h.call_source,
  h.status, h.failure, h.calls, h.vendor_calls, h.input_tokens + h.output_tokens as tokens, h.cost, h.response_time_ms,
  h.latency, h.cache_hits, h.cached_tokens, h.cache_creation_tokens, h.fallbacks`;

/** The sums of whole hours, but those of summed days, and the rows of the rest at both ends. */
function besideDays(tx: TenantTransaction, range: Range, parts: RangeParts) {
  const { tenantId } = tx.scope;
  const { hours, days } = parts;
  return sql.fragment`
    select h.hour, ${ofSums} from reports.call_hours h
    where h.tenant_id = ${tenantId} and h.hour >= ${at(hours.from)} and h.hour < ${at(days.from)} and h.calls > 0
    union all
    select h.hour, ${ofSums} from reports.call_hours h
    where h.tenant_id = ${tenantId} and h.hour >= ${summedTo(tx, parts)} and h.hour < ${at(hours.to)} and h.calls > 0
    union all
    select date_trunc('hour', c.started_at, 'UTC'), c.agent_id, c.provider, c.model, c.call_source, c.status,
      case when c.status = 'error' then coalesce(c.failure, 'unknown') else '' end, 1, (not c.from_cache)::int,
      c.input_tokens + c.output_tokens, c.cost::numeric, c.response_time_ms, c.latency,
      (c.from_cache or c.cached_tokens > 0)::int, c.cached_tokens, c.cache_creation_tokens,
      (c.model <> c.first_model and c.status = 'success')::int
    from reports.calls c
    where c.tenant_id = ${tenantId}
      and ((c.started_at >= ${at(range.from)} and c.started_at < ${at(hours.from)})
        or (c.started_at >= ${at(hours.to)} and c.started_at < ${at(range.to)}))`;
}

/** Exact, and cheap over any range. */
function facts(tx: TenantTransaction, range: Range, filter: CallFilter, parts = partsOf(range)) {
  const { agentId = null, provider = null, model = null, status = null } = filter;
  return sql.fragment`facts as (
    select * from (
      select h.day as hour, ${ofSums} from reports.call_days h
      where h.tenant_id = ${tx.scope.tenantId} and h.day >= ${at(parts.days.from)} and h.day < ${summedTo(tx, parts)}
      union all ${besideDays(tx, range, parts)}
    ) f
    where (${agentId}::uuid is null or f.agent_id = ${agentId}::uuid)
      and (${provider}::text is null or f.provider = ${provider}::text)
      and (${model}::text is null or f.model = ${model}::text)
      and (${status}::text is null or f.status = ${status}::text)
  )`;
}

export function readShares(
  tx: TenantTransaction,
  range: Range,
  filter: CallFilter = {},
): Promise<readonly Share[]> {
  return tx.any(sql.type(shareRow)`
    with ${facts(tx, range, filter)}
    select agent_id, provider, model, call_source, status, failure, ${summed} from facts group by 1, 2, 3, 4, 5, 6`);
}

const ofHour = sql.fragment`sum(calls)::bigint as calls, sum(tokens)::bigint as tokens, sum(cost)::float8 as cost`;

/** Hours with calls. */
export function readHours(tx: TenantTransaction, range: Range): Promise<readonly HourSums[]> {
  const parts = partsOf(range);
  return tx.any(sql.type(hourRow)`
    select hour, ${ofHour} from (
      select t.hour, t.calls, t.tokens, t.cost from reports.hour_totals t
      where t.tenant_id = ${tx.scope.tenantId} and t.hour >= ${at(parts.days.from)} and t.hour < ${summedTo(tx, parts)}
      union all
      select r.hour, r.calls, r.tokens, r.cost from (${besideDays(tx, range, parts)}) r
    ) f group by 1 order by 1`);
}

/** The same of some calls, for short ranges: the days are read as hours. */
export function readChosenHours(
  tx: TenantTransaction,
  range: Range,
  filter: CallFilter,
): Promise<readonly HourSums[]> {
  const { hours } = partsOf(range);
  const parts = { hours, days: { from: hours.to, to: hours.to } };
  return tx.any(sql.type(hourRow)`
    with ${facts(tx, range, filter, parts)}
    select hour, ${ofHour} from facts group by 1 order by 1`);
}

export function readDays(tx: TenantTransaction, range: Range): Promise<readonly DaySums[]> {
  return tx.any(sql.type(dayRow)`
    with ${facts(tx, range, {})}
    select to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day, sum(cache_hits)::bigint as cache_hits,
      sum(cached_tokens)::bigint as cached_tokens
    from facts group by 1 order by 1`);
}
