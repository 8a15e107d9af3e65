import { z } from 'zod';
import {
  declare,
  encodeCursor,
  one,
  oneShape,
  type Operation,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  tenantCaller,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { executionAnswer, executionDetail, executionDetailShape, executionShape } from './responses.js';
import { findExecution, findPromisedExecution, listExecutions, listSteps } from './reads.store.js';

const statuses = ['queued', 'running', 'completed', 'failed', 'timeout', 'cancelled', 'blocked'] as const;

export function executionOperations(store: Store): readonly Operation[] {
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
        session_id: z.uuid().optional(),
        agent_id: z.uuid().optional(),
        status: z.enum(statuses).optional(),
      }),
      output: pageShape(executionShape),
      async handle({ caller, query }) {
        const page = pageAsked(query);
        const rows = await store.inTenant(caller.scope, (tx) =>
          listExecutions(caller.scope, tx, {
            ...page,
            traceId: query.trace_id,
            sessionId: query.session_id,
            agentId: query.agent_id,
            status: query.status,
          }),
        );
        return pageOf(rows, page.limit, executionAnswer, ({ created_at, id }) =>
          encodeCursor({ at: created_at, id }),
        );
      },
    }),
    declare({
      name: 'executions.get',
      method: 'GET',
      path: '/api/v1/executions/:id',
      title: 'Get one execution with its steps.',
      access: tenantCaller('executions:read'),
      params: z.object({ id: z.uuid() }),
      output: oneShape(executionDetailShape),
      errors: ['not_found'],
      async handle({ caller, params }) {
        const { scope } = caller;
        return store.inTenant(scope, async (tx) => {
          // The last query finds an execution that moved to its session between the first two.
          const execution =
            (await findExecution(scope, tx, params.id)) ??
            (await findPromisedExecution(scope, tx, params.id)) ??
            (await findExecution(scope, tx, params.id));
          if (execution === null) throw new PlatformError('not_found');
          return one(executionDetail(execution, await listSteps(scope, tx, params.id)));
        });
      },
    }),
  ];
}
