/** The paths of executions: from the trigger, over agents and tools, to models. */
import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Range } from './range.js';

const node = z.object({
  node: z.string(),
  executions: z.number(),
  total_tokens: z.number(),
  latency_ms: z.number(),
  errors: z.number(),
});
export type LoopNode = z.output<typeof node>;

const edge = z.object({ source: z.string(), target: z.string(), count: z.number() });
export type Edge = z.output<typeof edge>;

/** The steps of a range: each model call by its source, each tool call by its name. */
function steps(tx: TenantTransaction, { from, to }: Range, agentId: string | undefined) {
  const { tenantId } = tx.scope;
  const within = sql.fragment`>= ${from.toISOString()}::timestamptz`;
  const before = sql.fragment`< ${to.toISOString()}::timestamptz`;
  const agent = agentId ?? null;
  return sql.fragment`steps as (
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
  )`;
}

export async function readLoop(
  tx: TenantTransaction,
  range: Range,
  agentId: string | undefined,
): Promise<{
  readonly nodes: readonly LoopNode[];
  readonly edges: readonly Edge[];
  readonly sessions: number;
}> {
  const all = steps(tx, range, agentId);
  const nodes = await tx.any(sql.type(node)`
    with ${all}
    select node, count(*)::bigint as executions, sum(tokens)::bigint as total_tokens, sum(latency_ms)::float8 as latency_ms,
      count(*) filter (where failed)::bigint as errors
    from steps group by node order by executions desc, node`);
  const edges = await tx.any(sql.type(edge)`
    with ${all},
    pairs as (
      select node as target, lag(node) over (partition by execution_id order by started_at, number) as source
      from steps where execution_id is not null
    )
    select source, target, count(*)::bigint as count from pairs where source is not null
    group by source, target order by count desc, source, target`);
  const sessions = await tx.oneFirst(
    sql.type(z.object({ sessions: z.number() }))`
      with ${all} select count(distinct session_id)::bigint as sessions from steps`,
  );
  return { nodes, edges, sessions };
}

const graphNode = z.object({
  id: z.string(),
  type: z.enum(['trigger', 'agent', 'model', 'tool']),
  label: z.string(),
  executions: z.number(),
});
export type GraphNode = z.output<typeof graphNode>;

export async function readGraph(
  tx: TenantTransaction,
  range: Range,
  agentId: string | undefined,
): Promise<{
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly Edge[];
  readonly turns: number;
}> {
  const { tenantId } = tx.scope;
  const agent = agentId ?? null;
  const from = sql.fragment`${range.from.toISOString()}::timestamptz`;
  const to = sql.fragment`${range.to.toISOString()}::timestamptz`;
  const all = sql.fragment`turns as (
      select x.id, x.agent_id, x.trigger_id from reports.executions x
      where x.tenant_id = ${tenantId} and x.created_at >= ${from} and x.created_at < ${to}
        and (${agent}::uuid is null or x.agent_id = ${agent}::uuid)
    ),
    asked as (
      select c.agent_id, c.model from reports.calls c
      where c.tenant_id = ${tenantId} and c.started_at >= ${from} and c.started_at < ${to} and c.agent_id is not null
        and (${agent}::uuid is null or c.agent_id = ${agent}::uuid)
    ),
    used as (
      select t.agent_id, 'tool:' || s.name as tool, s.name from turns t
      join reports.execution_steps s on s.tenant_id = ${tenantId} and s.execution_id = t.id and s.kind = 'tool'
    )`;
  const nodes = await tx.any(sql.type(graphNode)`
    with ${all}
    select t.trigger_id::text as id, 'trigger' as type, coalesce(max(g.name), t.trigger_id::text) as label,
      count(*)::bigint as executions
    from turns t left join reports.triggers g on g.tenant_id = ${tenantId} and g.id = t.trigger_id
    where t.trigger_id is not null group by t.trigger_id
    union all
    select t.agent_id::text, 'agent', coalesce(max(a.name), t.agent_id::text), count(*)::bigint
    from turns t left join reports.agents a on a.tenant_id = ${tenantId} and a.id = t.agent_id group by t.agent_id
    union all
    select model, 'model', model, count(*)::bigint from asked group by model
    union all
    select tool, 'tool', name, count(*)::bigint from used group by tool, name
    order by 4 desc, 1`);
  const edges = await tx.any(sql.type(edge)`
    with ${all}
    select trigger_id::text as source, agent_id::text as target, count(*)::bigint as count from turns
    where trigger_id is not null group by 1, 2
    union all
    select agent_id::text, model, count(*)::bigint from asked group by 1, 2
    union all
    select agent_id::text, tool, count(*)::bigint from used group by 1, 2
    order by 3 desc, 1, 2`);
  const turns = await tx.oneFirst(
    sql.type(z.object({ turns: z.number() }))`with ${all} select count(*)::bigint as turns from turns`,
  );
  return { nodes, edges, turns };
}
