import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import {
  cursorOfCreated,
  declare,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  pageAsked,
  pageFound,
  pageOf,
  pageQuery,
  pageShape,
  rowsFor,
  tenantCaller,
  givenGuid,
  givenUuid,
} from '../../http/operations/index.js';
import { deliveryAnswer, deliveryAnswerOf } from './responses.js';
import type { Outbox } from '../outbox/outbox.js';
import {
  bufferAnswer,
  enrichedAnswer,
  executionAnswer,
  executionAnswerOf,
  type History,
  ownStatsAnswer,
  statsAnswer,
} from './history.js';

export interface HistoryOperationParts {
  readonly history: History;
  readonly outbox: Outbox;
}

const buffersMax = 200;

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

export function historyOperations({ history, outbox }: HistoryOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'triggers.executions',
      method: 'GET',
      path: '/api/triggers/:id/executions',
      title: 'What a trigger ran',
      description: 'Newest first.',
      access: tenantCaller('executions:read'),
      params: z.object({ id: givenUuid }),
      query: pageQuery.extend({ status: z.enum(statuses).optional() }),
      output: pageShape(executionAnswer),
      handle: async ({ caller, params, query }) => {
        const { limit, after } = pageAsked(query);
        const found = await history.list(caller.scope, params.id, { status: query.status, after, limit });
        return pageFound(found, executionAnswerOf, cursorOfCreated);
      },
    }),
    declare({
      name: 'triggers.execution',
      method: 'GET',
      path: '/api/triggers/:id/executions/:executionId',
      title: 'One execution of a trigger, with its steps and deliveries',
      access: tenantCaller('executions:read'),
      params: z.object({ id: givenUuid, executionId: givenUuid }),
      output: oneShape(enrichedAnswer),
      handle: async ({ caller, params }) =>
        one(await history.enriched(caller.scope, params.id, params.executionId)),
    }),
    declare({
      name: 'triggers.buffers',
      method: 'GET',
      path: '/api/triggers/:id/buffers',
      title: 'Buffers of a trigger that are open now',
      description: 'The 200 that end first. Each belongs to one session and becomes one execution.',
      access: tenantCaller('executions:read'),
      params: z.object({ id: givenUuid }),
      output: listShape(bufferAnswer),
      handle: async ({ caller, params }) =>
        list([...(await history.buffers(caller.scope, params.id, buffersMax))]),
    }),
    declare({
      name: 'triggers.stats',
      method: 'GET',
      path: '/api/triggers/stats',
      title: 'Triggers in figures',
      access: tenantCaller('triggers:read'),
      output: oneShape(statsAnswer),
      handle: async ({ caller }) => one(await history.stats(caller.scope)),
    }),
    declare({
      name: 'triggers.stats-of',
      method: 'GET',
      path: '/api/triggers/:id/stats',
      title: 'One trigger in figures',
      access: tenantCaller('triggers:read'),
      params: z.object({ id: givenUuid }),
      output: oneShape(ownStatsAnswer),
      handle: async ({ caller, params }) => one(await history.statsOf(caller.scope, params.id)),
    }),
    declare({
      name: 'deliveries.list',
      method: 'GET',
      path: '/api/v1/deliveries',
      title: 'List answers on their way out',
      description: 'Newest first.',
      access: tenantCaller('messages:send'),
      query: pageQuery.extend({
        status: z
          .enum(['pending', 'delivered', 'delivery_failed', 'dead'])
          .transform((status) => (status === 'dead' ? ('delivery_failed' as const) : status))
          .optional()
          .describe('`dead` is an alias of `delivery_failed`.'),
        trigger_id: givenGuid.optional(),
        session_id: givenGuid.optional(),
        execution_id: givenGuid.optional(),
      }),
      output: pageShape(deliveryAnswer),
      handle: async ({ caller, query }) => {
        const { limit, after } = pageAsked(query);
        const rows = await outbox.list(caller.scope, {
          status: query.status,
          triggerId: query.trigger_id,
          sessionId: query.session_id,
          executionId: query.execution_id,
          after,
          limit: rowsFor(limit),
        });
        return pageOf(rows, limit, deliveryAnswerOf, cursorOfCreated);
      },
    }),
    declare({
      name: 'deliveries.replay',
      method: 'POST',
      audit: 'deliveries.replay',
      idempotency: { exempt: 'only a failed delivery is replayed, and a repeat is told so' },
      path: '/api/v1/deliveries/:id/replay',
      title: 'Send a failed answer once more',
      description: 'Starts at the chunk that failed and uses the trigger’s current configuration.',
      access: tenantCaller('messages:send'),
      params: z.object({ id: givenUuid }),
      output: oneShape(deliveryAnswer),
      errors: ['conflict'],
      handle: async ({ caller, params }) => {
        const row = await outbox.replay(caller.scope, params.id);
        if (row === undefined) {
          throw new PlatformError('not_found', { message: 'The delivery was not found.' });
        }
        return one(deliveryAnswerOf(row));
      },
    }),
  ];
}
