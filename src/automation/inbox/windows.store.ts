import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

export interface Window {
  readonly triggerId: string;
  readonly sessionId: string;
}

const dueWindow = z.object({
  tenant_id: z.uuid(),
  trigger_id: z.uuid(),
  session_id: z.uuid(),
  overdue: z.boolean(),
});

/**
 * Claims windows that are due for a check: those long enough past their end that the node that held the timer must be
 * gone, and those that have received messages since. Each is checked again some time after its end.
 */
export function claimDueWindows(
  tx: DirectoryTransaction,
  lateMs: number,
  rowsMax: number,
): Promise<readonly z.output<typeof dueWindow>[]> {
  const late = sql.fragment`${lateMs} * interval '1 millisecond'`;
  return tx.any(sql.type(dueWindow)`
    update trigger_windows set look_at = greatest(due_at, clock_timestamp()) + ${late}
    where (tenant_id, trigger_id, session_id) in (
      select tenant_id, trigger_id, session_id from trigger_windows
      where look_at <= clock_timestamp() order by look_at limit ${rowsMax} for update skip locked)
    returning tenant_id, trigger_id, session_id, due_at + ${late} <= clock_timestamp() as overdue`);
}

const openWindow = z.object({ session_id: z.uuid(), messages: z.int(), due_at: z.date() });

/** The buffers of a trigger that are open now; the one that ends first is the first. */
export function listWindows(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  rowsMax: number,
): Promise<readonly z.output<typeof openWindow>[]> {
  return tx.any(sql.type(openWindow)`
    select session_id, messages, due_at from trigger_windows
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} order by due_at, session_id limit ${rowsMax}`);
}
