import { z } from 'zod';
import {
  boundsOf,
  declare,
  encodeCursor,
  named,
  type Operation,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  rangeQuery,
  rowsFor,
  tenantCaller,
  givenGuid,
} from '../http/operations/index.js';
import type { ErrorRecord, ErrorRecords } from '../infra/diagnostics/index.js';
import type { TenantScope } from '../kernel/tenant-scope.js';

export const recentError = named(
  'RecentError',
  z.object({
    id: z.uuid(),
    error: z.string(),
    message: z.string(),
    timestamp: z.iso.datetime(),
  }),
);

/** One error with what leads to its cause. */
export const errorRecord = recentError.extend({
  node: z.string(),
  request_id: z.string().nullable(),
  operation: z.string().nullable(),
  execution_id: z.uuid().nullable(),
  agent_id: z.string().nullable().describe('The agent of the turn, or the one that the request named.'),
  trigger_id: z.uuid().nullable().describe('The trigger that started the turn.'),
});

const tenantError = named('TenantError', errorRecord);

export interface TenantErrorsParts {
  readonly errorRecords: Pick<ErrorRecords, 'listOf'>;
  /** Which of the agents are the tenant's. */
  readonly ownAgents: (scope: TenantScope, ids: readonly string[]) => Promise<{ has(id: string): boolean }>;
}

export function tenantErrorsOperation({ errorRecords, ownAgents }: TenantErrorsParts): Operation {
  return declare({
    name: 'errors.of-tenant',
    method: 'GET',
    path: '/api/v1/errors',
    title: 'The latest errors of the tenant on all nodes, with what leads to their cause',
    description:
      "Newest first, of the last seven days, at least the tenant's last 500. A failed turn has its execution instead of a request id. Requests without a valid credential belong to no tenant.",
    access: tenantCaller('telemetry:read'),
    query: pageQuery.extend({
      ...rangeQuery.shape,
      id: givenGuid.optional().describe('Only this error.'),
      code: z.string().min(1).max(100).optional(),
      request_id: z.string().min(1).max(200).optional(),
      agent_id: givenGuid.optional(),
      trigger_id: givenGuid.optional(),
    }),
    output: pageShape(tenantError),
    async handle({ caller: { scope }, query }) {
      const { limit, after } = pageAsked(query);
      const { id, code, request_id: requestId, agent_id: agentId, trigger_id: triggerId } = query;
      const filter = { id, code, requestId, agentId, triggerId, ...boundsOf(query), after };
      const found = await errorRecords.listOf(scope.tenantId, { ...filter, limit: rowsFor(limit) });
      const own = await ownAgents(scope, agentsOf(found));
      const isShown = ({ agent_id: agent }: Pick<ErrorRecord, 'agent_id'>): boolean =>
        agent !== null && own.has(agent);
      // All rows of a filter by agent are about the same one.
      const rows = agentId === undefined ? found : found.filter(isShown);
      return pageOf(
        rows,
        limit,
        ({ tenant: _tenant, ...row }) => ({ ...row, agent_id: isShown(row) ? row.agent_id : null }),
        ({ timestamp, id: last }) => encodeCursor({ at: new Date(timestamp), id: last }),
      );
    },
  });
}

function agentsOf(rows: readonly ErrorRecord[]): readonly string[] {
  return [...new Set(rows.flatMap(({ agent_id: agent }) => (agent === null ? [] : [agent])))];
}
