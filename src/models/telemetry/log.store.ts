import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Range } from './range.js';
import type { CallFilter } from './totals.store.js';

export const logOrders = [
  'timestamp',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'response_time_ms',
  'model',
  'provider',
] as const;
export type LogOrder = (typeof logOrders)[number];

const logRow = z.object({
  call_id: z.string(),
  started_at: z.date(),
  user_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  session_id: z.string().nullable(),
  execution_id: z.string().nullable(),
  provider: z.string(),
  model: z.string(),
  first_model: z.string(),
  status: z.enum(['success', 'error']),
  failure: z.string().nullable(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  cache_creation_tokens: z.number(),
  cost: z.number(),
  response_time_ms: z.number(),
  call_source: z.string(),
  from_cache: z.boolean(),
  input_preview: z.string(),
  output_preview: z.string(),
});
export type LogRow = z.output<typeof logRow>;

const columns: Readonly<Record<LogOrder, ReturnType<typeof sql.fragment>>> = {
  timestamp: sql.fragment`c.started_at`,
  input_tokens: sql.fragment`c.input_tokens`,
  output_tokens: sql.fragment`c.output_tokens`,
  total_tokens: sql.fragment`c.input_tokens + c.output_tokens`,
  response_time_ms: sql.fragment`c.response_time_ms`,
  model: sql.fragment`c.model`,
  provider: sql.fragment`c.provider`,
};

function chosen(tx: TenantTransaction, { from, to }: Range, filter: CallFilter) {
  const { agentId = null, provider = null, model = null, status = null } = filter;
  return sql.fragment`
    c.tenant_id = ${tx.scope.tenantId} and c.started_at >= ${from.toISOString()}::timestamptz
    and c.started_at < ${to.toISOString()}::timestamptz
    and (${agentId}::uuid is null or c.agent_id = ${agentId}::uuid)
    and (${provider}::text is null or c.provider = ${provider}::text)
    and (${model}::text is null or c.model = ${model}::text)
    and (${status}::text is null or c.status = ${status}::text)`;
}

export interface LogPage {
  readonly page: number;
  readonly limit: number;
  readonly order: LogOrder;
  readonly direction: 'asc' | 'desc';
}

const logColumns = sql.fragment`
  c.call_id, c.started_at, c.user_id, c.agent_id, c.session_id, c.execution_id, c.provider, c.model, c.first_model,
  c.status, c.failure, c.input_tokens, c.output_tokens,
  c.cached_tokens, c.cache_creation_tokens, c.cost,
  c.response_time_ms, c.call_source, c.from_cache, c.input_preview, c.output_preview`;

export async function readLog(
  tx: TenantTransaction,
  range: Range,
  filter: CallFilter,
  { page, limit, order, direction }: LogPage,
): Promise<{ readonly rows: readonly LogRow[]; readonly total: number }> {
  const total = await tx.oneFirst(
    sql.type(z.object({ total: z.number() }))`
      select count(*)::bigint as total from reports.calls c where ${chosen(tx, range, filter)}`,
  );
  const turned = direction === 'asc' ? sql.fragment`asc` : sql.fragment`desc`;
  const rows = await tx.any(sql.type(logRow)`
    select ${logColumns} from reports.calls c where ${chosen(tx, range, filter)}
    order by ${columns[order]} ${turned}, c.started_at ${turned}, c.call_id
    limit ${limit} offset ${(page - 1) * limit}`);
  return { rows, total };
}

/** One call; undefined once it is kept no longer. */
export function readCall(tx: TenantTransaction, id: string): Promise<LogRow | null> {
  return tx.maybeOne(sql.type(logRow)`
    select ${logColumns} from reports.calls c
    where c.tenant_id = ${tx.scope.tenantId} and c.call_id = ${id}::uuid`);
}

const sessionRow = z.object({
  session_id: z.string(),
  agent_id: z.string().nullable(),
  first_interaction: z.date(),
  last_interaction: z.date(),
  total_calls: z.number(),
  total_tokens: z.number(),
  cost: z.number(),
  total_latency_ms: z.number(),
  errors: z.number(),
});
export type SessionRow = z.output<typeof sessionRow>;

/**
 * The newest sessions are found one after the other from the newest call on, and only their calls are summed. All
 * sessions are counted in the index.
 */
export async function readSessions(
  tx: TenantTransaction,
  range: Range,
  agentId: string | undefined,
  limit: number,
): Promise<{ readonly rows: readonly SessionRow[]; readonly total: number }> {
  const which = sql.fragment`${chosen(tx, range, { agentId })} and c.session_id is not null`;
  const total = await tx.oneFirst(
    sql.type(z.object({ total: z.number() }))`
      select count(distinct c.session_id)::bigint as total from reports.calls c where ${which}`,
  );
  const rows = await tx.any(sql.type(sessionRow)`
    with recursive newest (found, session_id, started_at) as (
      select array[]::uuid[], null::uuid, ${range.to.toISOString()}::timestamptz
      union all
      select n.found || f.session_id, f.session_id, f.started_at
      from newest n cross join lateral (
        select c.session_id, c.started_at from reports.calls c
        where ${which} and c.started_at <= n.started_at and c.session_id <> all(n.found)
        order by c.started_at desc, c.session_id limit 1
      ) f
      where cardinality(n.found) < ${limit}
    )
    select s.* from newest n cross join lateral (
      select c.session_id, (array_agg(c.agent_id order by c.started_at desc))[1] as agent_id,
        min(c.started_at) as first_interaction, max(c.started_at) as last_interaction, count(*)::bigint as total_calls,
        sum(c.input_tokens + c.output_tokens)::bigint as total_tokens, sum(c.cost::numeric)::float8 as cost,
        sum(c.response_time_ms)::float8 as total_latency_ms,
        count(*) filter (where c.status = 'error')::bigint as errors
      from reports.calls c where ${which} and c.session_id = n.session_id
      group by c.session_id
    ) s
    where n.session_id is not null
    order by s.last_interaction desc, s.session_id`);
  return { rows, total };
}

/** All calls, oldest first. */
export function walkLog(
  tx: TenantTransaction,
  { from, to }: Partial<Range>,
  after: { readonly at: Date; readonly id: string } | undefined,
  limit: number,
): Promise<readonly LogRow[]> {
  const conditions = [
    sql.fragment`c.tenant_id = ${tx.scope.tenantId}`,
    ...(from === undefined ? [] : [sql.fragment`c.started_at >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`c.started_at < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(c.started_at, c.call_id) > (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`,
        ]),
  ];
  return tx.any(sql.type(logRow)`
    select ${logColumns} from reports.calls c where ${sql.join(conditions, sql.fragment` and `)}
    order by c.started_at, c.call_id limit ${limit}`);
}
