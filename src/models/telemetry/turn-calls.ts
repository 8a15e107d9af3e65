import { z } from 'zod';
import {
  declare,
  list,
  listShape,
  named,
  type Operation,
  tenantCaller,
  givenUuid,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  readTurnAttempts,
  isExecution,
  readTurnCalls,
  type TurnAttempt,
  type TurnCall,
} from './turn-calls.store.js';

const moment = z.iso.datetime();

export const attemptShape = named(
  'CallAttempt',
  z.object({
    number: z.int(),
    started_at: moment,
    provider: z.string(),
    model: z.string(),
    payer: z.enum(['platform', 'tenant']),
    outcome: z.string().nullable().describe('Null while the attempt runs.'),
    failure: z.string().nullable().describe('Why the next attempt followed.'),
    stop_reason: z.string().nullable(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cost: z.number(),
    first_token_ms: z.number().nullable(),
    latency_ms: z.number().nullable(),
  }),
);

export const turnCallShape = z.object({
  id: z.uuid(),
  started_at: moment,
  agent_id: z.uuid().nullable().describe('The agent, or the sub-agent, that called.'),
  call_source: z.string(),
  provider: z.string(),
  model: z.string(),
  first_model: z
    .string()
    .describe('The model that was asked first; another one answered if `model` differs.'),
  status: z.enum(['success', 'error']),
  failure: z.string().nullable(),
  from_cache: z.boolean(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cached_tokens: z.int(),
  cost: z.number(),
  latency_ms: z.number(),
  input_preview: z.string(),
  output_preview: z.string(),
  attempts: z.array(attemptShape),
});

/** The model calls of one turn with their attempts: which vendors were asked, and why another one followed. */
export function turnCallOperations(store: Store): readonly Operation[] {
  return [
    declare({
      name: 'executions.calls',
      method: 'GET',
      path: '/api/v1/executions/:id/calls',
      title: 'List the model calls of an execution, oldest first, with their attempts.',
      description: 'Empty for an execution whose calls are kept no longer.',
      access: tenantCaller('executions:read'),
      errors: ['not_found'],
      params: z.object({ id: givenUuid }),
      output: listShape(turnCallShape),
      handle: ({ caller, params }) =>
        store.inTenant(caller.scope, async (tx) => {
          const calls = await readTurnCalls(tx, params.id);
          const [first, last] = [calls.at(0), calls.at(-1)];
          if (first === undefined || last === undefined) {
            if (await isExecution(tx, params.id)) return list([]);
            throw new PlatformError('not_found', { message: 'The execution was not found.' });
          }
          const span = { from: first.started_at, to: last.started_at };
          const attempts = await readTurnAttempts(tx, params.id, span);
          return list(
            calls.map((call) =>
              answer(
                call,
                attempts.filter(({ call_id }) => call_id === call.call_id),
              ),
            ),
          );
        }),
    }),
  ];
}

function answer(call: TurnCall, attempts: readonly TurnAttempt[]): z.output<typeof turnCallShape> {
  const { call_id: id, started_at, response_time_ms, ...rest } = call;
  return {
    ...rest,
    id,
    started_at: started_at.toISOString(),
    latency_ms: response_time_ms,
    attempts: attempts.map(attemptOf),
  };
}

export function attemptOf(attempt: TurnAttempt): z.output<typeof attemptShape> {
  return {
    number: attempt.attempt_number,
    started_at: attempt.opened_at.toISOString(),
    provider: attempt.vendor,
    model: attempt.model,
    payer: attempt.payer,
    outcome: attempt.outcome,
    failure: attempt.failure,
    stop_reason: attempt.stop_reason,
    input_tokens: attempt.input_tokens,
    output_tokens: attempt.output_tokens,
    cost: attempt.cost,
    first_token_ms: attempt.first_signal_ms,
    latency_ms: attempt.duration_ms,
  };
}
