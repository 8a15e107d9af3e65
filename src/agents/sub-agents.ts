import { z } from 'zod';
import type { TenantScope } from '../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../infra/storage/index.js';
import type { SchemaRow } from './schemas/schemas.store.js';

/** How many agents deep a turn may go: the agent, and five below it. */
export const depthMax = 5;

/** A row per agent and sub-agent; an agent without sub-agents has one with null. Archived agents are not there. */
const edge = z.object({ id: z.uuid(), child: z.uuid().nullable() });

/**
 * Which agents may be called from which: of a published agent what runs counts, of a draft its working copy. Two that
 * publish each other at once would both find no circle, so whoever asks holds the tenant's graph until the
 * transaction ends.
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

/** The sub-agents of an agent that are not there, lead back to it, or go too deep. */
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

/** Level by level: a level holds each agent once, so many ways to one agent cost no more than one. */
function faultBelow(
  graph: ReadonlyMap<string, readonly string[]>,
  root: string,
  child: string,
): string | undefined {
  let level = new Set([child]);
  for (let depth = 1; level.size > 0; depth += 1) {
    if (level.has(root)) return 'the agent would call itself, by way of its sub-agents';
    if (depth > depthMax) return `sub-agents would go more than ${depthMax} deep`;
    level = new Set([...level].flatMap((id) => graph.get(id) ?? []));
  }
  return undefined;
}
