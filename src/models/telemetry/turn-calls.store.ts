import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/** A turn has fewer: its rounds and those of its sub-agents are limited. */
const callsMax = 500;
const attemptsMax = 2_000;
/** An attempt is opened before its call is recorded, which happens at the end of the call. */
const longestCall = sql.fragment`interval '1 hour'`;

const callRow = z.object({
  call_id: z.string(),
  started_at: z.date(),
  agent_id: z.string().nullable(),
  call_source: z.string(),
  provider: z.string(),
  model: z.string(),
  first_model: z.string(),
  status: z.enum(['success', 'error']),
  failure: z.string().nullable(),
  from_cache: z.boolean(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  cost: z.number(),
  response_time_ms: z.number(),
  input_preview: z.string(),
  output_preview: z.string(),
});
export type TurnCall = z.output<typeof callRow>;

export function isExecution(tx: TenantTransaction, id: string): Promise<boolean> {
  return tx.oneFirst(sql.type(z.object({ is_known: z.boolean() }))`
    select exists (
      select from reports.executions e where e.tenant_id = ${tx.scope.tenantId} and e.id = ${id}
    ) as is_known`);
}

/** The model calls of an execution, oldest first. */
export function readTurnCalls(tx: TenantTransaction, executionId: string): Promise<readonly TurnCall[]> {
  return tx.any(sql.type(callRow)`
    select c.call_id, c.started_at, c.agent_id, c.call_source, c.provider, c.model, c.first_model, c.status, c.failure,
      c.from_cache, c.input_tokens, c.output_tokens, c.cached_tokens, c.cost, c.response_time_ms, c.input_preview,
      c.output_preview
    from reports.calls c where c.tenant_id = ${tx.scope.tenantId} and c.execution_id = ${executionId}
    order by c.started_at, c.call_id limit ${callsMax}`);
}

const attemptRow = z.object({
  call_id: z.string(),
  attempt_number: z.number(),
  opened_at: z.date(),
  vendor: z.string(),
  model: z.string(),
  payer: z.enum(['platform', 'tenant']),
  outcome: z.string().nullable(),
  failure: z.string().nullable(),
  stop_reason: z.string().nullable(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost: z.number(),
  first_signal_ms: z.number().nullable(),
  duration_ms: z.number().nullable(),
});
export type TurnAttempt = z.output<typeof attemptRow>;

const attemptColumns = sql.fragment`
  a.call_id, a.attempt_number, a.opened_at, a.vendor, a.model, a.payer, a.outcome, a.failure, a.stop_reason,
  a.input_tokens, a.output_tokens, a.cost, a.first_signal_ms, a.duration_ms`;

/** Their attempts, and those of calls that still run. The time finds them in the index of times. */
export function readTurnAttempts(
  tx: TenantTransaction,
  executionId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<readonly TurnAttempt[]> {
  return tx.any(sql.type(attemptRow)`
    select ${attemptColumns} from reports.attempts a
    where a.tenant_id = ${tx.scope.tenantId} and a.execution_id = ${executionId}
      and a.opened_at >= ${from.toISOString()}::timestamptz
      and a.opened_at <= ${to.toISOString()}::timestamptz + ${longestCall}
    order by a.opened_at, a.attempt_number limit ${attemptsMax}`);
}

/** The attempts of one call. The time finds them in the index of times. */
export function readCallAttempts(
  tx: TenantTransaction,
  callId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<readonly TurnAttempt[]> {
  return tx.any(sql.type(attemptRow)`
    select ${attemptColumns} from reports.attempts a
    where a.tenant_id = ${tx.scope.tenantId} and a.call_id = ${callId}::uuid
      and a.opened_at >= ${from.toISOString()}::timestamptz and a.opened_at <= ${to.toISOString()}::timestamptz
    order by a.attempt_number limit ${attemptsMax}`);
}
