/** What turns connect: triggers, agents, models and tools. */
import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Range } from './range.js';

/** Turns of an agent, by the trigger that started them. */
const turnsRow = z.object({ agent_id: z.string(), trigger_id: z.string().nullable(), count: z.number() });
export type TurnCount = z.output<typeof turnsRow>;

export function readTurns(
  tx: TenantTransaction,
  { from, to }: Range,
  agentId: string | undefined,
): Promise<readonly TurnCount[]> {
  const agent = agentId ?? null;
  return tx.any(sql.type(turnsRow)`
    select x.agent_id, x.trigger_id, count(*)::bigint as count from reports.executions x
    where x.tenant_id = ${tx.scope.tenantId} and x.created_at >= ${from.toISOString()}::timestamptz
      and x.created_at < ${to.toISOString()}::timestamptz and (${agent}::uuid is null or x.agent_id = ${agent}::uuid)
    group by 1, 2`);
}

/** Calls of a tool by the turns of an agent. */
const toolsRow = z.object({ agent_id: z.string(), name: z.string(), count: z.number() });
export type ToolCount = z.output<typeof toolsRow>;

export function readTools(
  tx: TenantTransaction,
  { from, to }: Range,
  agentId: string | undefined,
): Promise<readonly ToolCount[]> {
  const agent = agentId ?? null;
  return tx.any(sql.type(toolsRow)`
    select t.agent_id, t.name, count(*)::bigint as count from (
      select x.agent_id, s.name
      from reports.execution_steps s join reports.executions x on x.tenant_id = s.tenant_id and x.id = s.execution_id
      where s.tenant_id = ${tx.scope.tenantId} and s.kind = 'tool'
        and s.started_at >= ${from.toISOString()}::timestamptz and s.started_at < ${to.toISOString()}::timestamptz
      union all
      select c.agent_id, c.name from reports.sub_agent_steps c
      where c.tenant_id = ${tx.scope.tenantId} and c.kind = 'tool' and c.agent_id is not null
        and c.called_at >= ${from.toISOString()}::timestamptz and c.called_at < ${to.toISOString()}::timestamptz
    ) t
    where ${agent}::uuid is null or t.agent_id = ${agent}::uuid
    group by 1, 2`);
}

/** Sub-agents by the tool that asks them. */
export function readSubAgents(
  tx: TenantTransaction,
  { from, to }: Range,
  agentId: string | undefined,
): Promise<readonly ToolCount[]> {
  const agent = agentId ?? null;
  return tx.any(sql.type(toolsRow)`
    select c.agent_id, c.name, count(*)::bigint as count from reports.sub_agent_steps c
    where c.tenant_id = ${tx.scope.tenantId} and c.kind = 'agent' and c.agent_id is not null
      and c.called_at >= ${from.toISOString()}::timestamptz and c.called_at < ${to.toISOString()}::timestamptz
      and (${agent}::uuid is null or c.agent_id = ${agent}::uuid)
    group by 1, 2`);
}

/** The names of agents and triggers, by id. */
export async function readNames(
  tx: TenantTransaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { tenantId } = tx.scope;
  const list = sql.array([...ids], 'uuid');
  const rows = await tx.any(sql.type(z.object({ id: z.string(), name: z.string().nullable() }))`
    select a.id, a.name from reports.agents a where a.tenant_id = ${tenantId} and a.id = any(${list})
    union all
    select g.id, g.name from reports.triggers g where g.tenant_id = ${tenantId} and g.id = any(${list})`);
  return new Map(rows.map(({ id, name }) => [id, name ?? id]));
}
