import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const acceptedRow = z.object({ seq: z.coerce.number(), sealed: z.instanceof(Buffer) });

/** In the order of acceptance, after `after`. */
export function acceptedOfSession(
  tx: TenantTransaction,
  sessionId: string,
  after: number,
  limit: number,
): Promise<readonly z.output<typeof acceptedRow>[]> {
  return tx.any(sql.type(acceptedRow)`
    select seq, sealed from (
      select seq, sealed from trigger_inbox
      where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and state = 'buffered' and seq > ${after}
      union all
      select seq, sealed from trigger_inbox
      where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and state = 'running' and seq > ${after}
    ) accepted
    where sealed <> '' order by seq limit ${limit}`);
}

/** By session too, which has an index. Rows that run in the meantime are found by their executions. */
export async function forgetRows(
  tx: TenantTransaction,
  sessionId: string,
  seqs: readonly number[],
): Promise<void> {
  if (seqs.length === 0) return;
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox
    where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and state = 'buffered'
      and seq = any(${sql.array([...seqs], 'int8')})`);
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox
    where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and state = 'running'
      and seq = any(${sql.array([...seqs], 'int8')})`);
}
