import { z } from 'zod';
import type { TenantScope } from '../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../infra/storage/index.js';
import type { SchemaRow } from './schemas/schemas.store.js';

/** The greatest depth of sub-agents: the agent and five levels below it. */
export const depthMax = 5;

/**
 * One row per agent and sub-agent; an agent without sub-agents has one row with null. Archived agents are left out.
 */
const edge = z.object({ id: z.uuid(), child: z.uuid().nullable() });

/**
 * Reads which agent calls which: the published version of a published agent, the working copy of a draft. Two
 * publications at the same time would each miss the other's part of a cycle, so the tenant's graph is locked until
 * the transaction ends.
 */
async function readGraph(scope: TenantScope, tx: TenantTransaction): Promise<Map<string, string[]>> {
  await tx.query(sql.typeAlias('nothing')`
    select from pg_advisory_xact_lock(hashtextextended('agents ' || ${scope.tenantId}, 0))`);
  const rows = await tx.any(sql.type(edge)`
    select a.id, s.document #>> '{editor_schema,agent,agent_id}' as child
    from agents a left join agent_schemas s
      on s.tenant_id = a.tenant_id and s.agent_id = a.id and s.type = 'agent'
    where a.tenant_id = ${scope.tenantId} and a.status = 'draft'
    union all
    select a.id, s.value #>> '{editor_schema,agent,agent_id}'
    from agents a
    join agent_versions v on v.tenant_id = a.tenant_id and v.agent_id = a.id and v.version = a.published_version
    left join jsonb_array_elements(v.snapshot -> 'schemas') s on s.value ->> 'type' = 'agent'
    where a.tenant_id = ${scope.tenantId} and a.status = 'published'`);
  const graph = new Map<string, string[]>();
  for (const { id, child } of rows) {
    const children = graph.get(id) ?? [];
    graph.set(id, child === null ? children : [...children, child.toLowerCase()]);
  }
  return graph;
}

export interface SubAgentFault {
  readonly row: SchemaRow;
  readonly issue: string;
}

/** The sub-agents of an agent that do not exist, lead back to it, or exceed the depth. */
export async function faultOfSubAgents(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  schemas: readonly SchemaRow[],
): Promise<readonly SubAgentFault[]> {
  const children = schemas.flatMap((row) =>
    row.document.type === 'agent'
      ? [{ row, id: row.document.editor_schema.agent.agent_id.toLowerCase() }]
      : [],
  );
  if (children.length === 0) return [];
  const graph = await readGraph(scope, tx);
  return children.flatMap(({ row, id }) => {
    const issue = graph.has(id) ? faultBelow(graph, agentId, id) : 'the agent does not exist';
    return issue === undefined ? [] : [{ row, issue }];
  });
}

/** Level by level: each level holds an agent once, so many paths to one agent cost no more than one. */
function faultBelow(
  graph: ReadonlyMap<string, readonly string[]>,
  root: string,
  child: string,
): string | undefined {
  let level = new Set([child]);
  for (let depth = 1; level.size > 0; depth += 1) {
    if (level.has(root)) return 'the agent would call itself through its sub-agents';
    if (depth > depthMax) return `sub-agents would be nested more than ${depthMax} levels deep`;
    level = new Set([...level].flatMap((id) => graph.get(id) ?? []));
  }
  return undefined;
}
