import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';

export interface NewReplyRoute {
  readonly sessionId: string;
  readonly triggerId: string;
  readonly sealed: Buffer;
}

export async function rememberReply(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  reply: NewReplyRoute,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into trigger_replies (tenant_id, session_id, trigger_id, sealed)
    values (${tenantId}, ${reply.sessionId}, ${reply.triggerId}, ${sql.binary(reply.sealed)})
    on conflict (tenant_id, session_id) do update
      set trigger_id = excluded.trigger_id, sealed = excluded.sealed, updated_at = now()`);
}

const replyRow = z.object({ trigger_id: z.uuid(), sealed: z.instanceof(Buffer) });

export function findReply(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  sessionId: string,
): Promise<z.output<typeof replyRow> | null> {
  return tx.maybeOne(sql.type(replyRow)`
    select trigger_id, sealed from trigger_replies where tenant_id = ${tenantId} and session_id = ${sessionId}`);
}
