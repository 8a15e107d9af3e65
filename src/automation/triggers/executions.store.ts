import type { TenantScope } from '../../kernel/tenant-scope.js';
import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

export interface EndedExecution {
  readonly id: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly triggerId: string;
  readonly channel: string;
  readonly userId: string | null;
  readonly message: string;
  readonly status: 'blocked' | 'failed';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Records an execution that ended before a session had it: a sender block applied, or no session accepted it. An
 * execution that a session already knows stays unchanged.
 */
export async function insertEnded(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  execution: EndedExecution,
): Promise<void> {
  const input = {
    message: execution.message,
    declared_context: null,
    accepted_fields: [],
    ignored_fields: [],
    quick_replies: false,
    role: 'owner',
    needs_bindings: false,
  };
  await tx.query(sql.typeAlias('nothing')`
    insert into executions (tenant_id, id, session_id, agent_id, trigger_id, slot, arrival, channel, user_id, status,
      outcome, due_at, input, error, latency_ms, created_at, finished_at)
    values (${tenantId}, ${execution.id}, ${execution.sessionId}, ${execution.agentId}, ${execution.triggerId}, 0, 0,
      ${execution.channel}, ${execution.userId}, ${execution.status},
      ${execution.status === 'blocked' ? 'BLOCKED' : 'FAILED'}, clock_timestamp(), ${JSON.stringify(input)}::jsonb,
      ${execution.error === null ? null : JSON.stringify(execution.error)}::jsonb, 0, clock_timestamp(),
      clock_timestamp())
    on conflict (tenant_id, id) do nothing`);
}

export async function setDeliveryStatus(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  executionId: string,
  status: 'pending' | 'delivered' | 'delivery_failed',
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update executions set delivery_status = ${status} where tenant_id = ${tenantId} and id = ${executionId}`);
}

export async function setAnswerCut(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  executionId: string,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update executions set answer_cut = true where tenant_id = ${tenantId} and id = ${executionId}`);
}

/** The trigger of the session's last triggered message; null if there is none. */
export function lastTriggerOf(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  sessionId: string,
): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(z.object({ trigger_id: z.uuid() }))`
    select trigger_id from executions
    where tenant_id = ${tenantId} and session_id = ${sessionId} and trigger_id is not null
    order by created_at desc limit 1`);
}
