/** The paths of executions: their steps, and which step follows which. */
import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Range } from './range.js';

export interface LoopNode {
  readonly node: string;
  readonly executions: number;
  readonly total_tokens: number;
  readonly latency_ms: number;
  readonly errors: number;
}

export interface Edge {
  readonly source: string;
  readonly target: string;
  readonly count: number;
}

/** One row of the answer is a node, an edge, or the number of sessions. */
const loopRow = z.object({
  kind: z.enum(['node', 'edge', 'total']),
  source: z.string(),
  target: z.string(),
  count: z.number(),
  total_tokens: z.number(),
  latency_ms: z.number(),
  errors: z.number(),
});

/** The steps of a range, of sub-agents too: each model call by its source, each tool call by its name. */
function steps(tx: TenantTransaction, { from, to }: Range, agentId: string | undefined) {
  const { tenantId } = tx.scope;
  const within = sql.fragment`>= ${from.toISOString()}::timestamptz`;
  const before = sql.fragment`< ${to.toISOString()}::timestamptz`;
  const agent = agentId ?? null;
  return sql.fragment`steps as materialized (
    select c.call_source as node, c.execution_id, c.session_id, c.agent_id, c.started_at, 0 as number,
      c.input_tokens + c.output_tokens as tokens, c.response_time_ms as latency_ms, c.status = 'error' as failed
    from reports.calls c
    where c.tenant_id = ${tenantId} and c.started_at ${within} and c.started_at ${before}
      and (${agent}::uuid is null or c.agent_id = ${agent}::uuid)
    union all
    select 'tool:' || s.name, s.execution_id, x.session_id, x.agent_id, s.started_at, s.number, 0,
      coalesce(extract(epoch from s.finished_at - s.started_at) * 1000, 0)::float8, s.state in ('failed', 'timeout')
    from reports.execution_steps s join reports.executions x on x.tenant_id = s.tenant_id and x.id = s.execution_id
    where s.tenant_id = ${tenantId} and s.kind = 'tool' and s.started_at ${within} and s.started_at ${before}
      and (${agent}::uuid is null or x.agent_id = ${agent}::uuid)
    union all
    select 'tool:' || c.name, c.execution_id, x.session_id, c.agent_id, c.started_at, c.number, 0,
      coalesce(extract(epoch from c.finished_at - c.started_at) * 1000, 0)::float8, c.state in ('failed', 'timeout')
    from reports.sub_agent_steps c join reports.executions x on x.tenant_id = c.tenant_id and x.id = c.execution_id
    where c.tenant_id = ${tenantId} and c.kind = 'tool' and c.called_at ${within} and c.called_at ${before}
      and (${agent}::uuid is null or c.agent_id = ${agent}::uuid)
  )`;
}

/** In one statement, which reads the steps once. */
export async function readLoop(
  tx: TenantTransaction,
  range: Range,
  agentId: string | undefined,
): Promise<{
  readonly nodes: readonly LoopNode[];
  readonly edges: readonly Edge[];
  readonly sessions: number;
}> {
  const rows = await tx.any(sql.type(loopRow)`
    with ${steps(tx, range, agentId)},
    pairs as (
      select node as target, lag(node) over (partition by execution_id order by started_at, number) as source
      from steps where execution_id is not null
    )
    select 'node' as kind, node as source, '' as target, count(*)::bigint as count, sum(tokens)::bigint as total_tokens,
      sum(latency_ms)::float8 as latency_ms, count(*) filter (where failed)::bigint as errors
    from steps group by node
    union all
    select 'edge', source, target, count(*)::bigint, 0, 0, 0 from pairs where source is not null group by source, target
    union all
    select 'total', '', '', count(distinct session_id)::bigint, 0, 0, 0 from steps
    order by count desc, source, target`);
  return {
    nodes: rows.flatMap(({ kind, source: node, count: executions, total_tokens, latency_ms, errors }) =>
      kind === 'node' ? [{ node, executions, total_tokens, latency_ms, errors }] : [],
    ),
    edges: rows.flatMap(({ kind, source, target, count }) =>
      kind === 'edge' ? [{ source, target, count }] : [],
    ),
    sessions: rows.find(({ kind }) => kind === 'total')?.count ?? 0,
  };
}
