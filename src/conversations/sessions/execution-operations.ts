import { z } from 'zod';
import {
  boundsOf,
  cursorOfCreated,
  declare,
  one,
  oneShape,
  type Operation,
  pageAsked,
  pageFound,
  pageQuery,
  pageShape,
  rangeQuery,
  tenantCaller,
  givenGuid,
  givenUuid,
} from '../../http/operations/index.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { executionAnswer, executionDetail, executionDetailShape, executionShape } from './responses.js';
import { findExecution, listExecutions, listSteps, type ReadExecution } from './reads.store.js';

const statuses = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'timeout',
  'cancelled',
  'blocked',
] as const;

/** A message that a trigger has accepted to run and that no session has received yet. */
export interface PromisedExecution {
  readonly agentId: string;
  readonly sessionId: string;
  readonly triggerId: string;
  readonly createdAt: Date;
}

/** Asks the inbox of triggers, which sessions do not know. */
export type FindPromised = (
  tx: TenantTransaction,
  executionId: string,
) => Promise<PromisedExecution | undefined>;

export function executionOperations(store: Store, findPromised: FindPromised): readonly Operation[] {
  return [
    declare({
      name: 'executions.list',
      method: 'GET',
      path: '/api/v1/executions',
      title: 'List turns and trigger executions, latest first.',
      description: '`trace_id` finds executions with that value in `metadata.trace_id`.',
      access: tenantCaller('executions:read'),
      query: pageQuery.extend({
        trace_id: z.string().min(1).max(256).optional(),
        session_id: givenGuid.optional(),
        agent_id: givenGuid.optional(),
        status: z.enum(statuses).optional(),
        ...rangeQuery.shape,
      }),
      output: pageShape(executionShape),
      async handle({ caller, query }) {
        const page = pageAsked(query);
        const found = await store.inTenant(caller.scope, (tx) =>
          listExecutions(caller.scope, tx, {
            ...page,
            traceId: query.trace_id,
            sessionId: query.session_id,
            agentId: query.agent_id,
            status: query.status,
            ...boundsOf(query),
          }),
        );
        return pageFound(found, executionAnswer, cursorOfCreated);
      },
    }),
    declare({
      name: 'executions.get',
      method: 'GET',
      path: '/api/v1/executions/:id',
      title: 'Get one execution with its steps.',
      access: tenantCaller('executions:read'),
      params: z.object({ id: givenUuid }),
      output: oneShape(executionDetailShape),
      errors: ['not_found'],
      async handle({ caller, params }) {
        const { scope } = caller;
        return store.inTenant(scope, async (tx) => {
          // The last query finds an execution that moved to its session between the first two.
          const execution =
            (await findExecution(scope, tx, params.id)) ??
            queued(params.id, await findPromised(tx, params.id)) ??
            (await findExecution(scope, tx, params.id));
          if (execution === null)
            throw new PlatformError('not_found', { message: 'The execution was not found.' });
          return one(executionDetail(execution, await listSteps(scope, tx, params.id)));
        });
      },
    }),
  ];
}

function queued(id: string, promised: PromisedExecution | undefined): ReadExecution | null {
  if (promised === undefined) return null;
  return {
    id,
    agent_id: promised.agentId,
    session_id: promised.sessionId,
    trigger_id: promised.triggerId,
    key_id: null,
    user_id: null,
    status: 'queued',
    outcome: null,
    metadata: {},
    model: null,
    provider: null,
    usage: null,
    cost: 0,
    latency_ms: null,
    first_token_ms: null,
    tool_calls: 0,
    timeout_clock: null,
    error: null,
    delivery_status: 'none',
    output: null,
    parsed: null,
    blocks: [],
    input: { accepted_fields: [], ignored_fields: [] },
    created_at: promised.createdAt,
    started_at: null,
    finished_at: null,
  };
}
