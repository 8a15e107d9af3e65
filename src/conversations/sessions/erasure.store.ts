import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

export async function sessionsOfConsumer(
  tx: TenantTransaction,
  key: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await tx.any(sql.typeAlias('id')`
    select id from sessions where tenant_id = ${tx.scope.tenantId} and consumer_key = ${key}
    order by last_interaction desc, id desc limit ${limit}`);
  return rows.map(({ id }) => id);
}

const counts = z.object({ messages: z.number(), executions: z.number() });

export function countsOfSession(tx: TenantTransaction, id: string): Promise<z.output<typeof counts>> {
  const { tenantId } = tx.scope;
  return tx.one(sql.type(counts)`
    select
      (select count(*)::int from messages where tenant_id = ${tenantId} and session_id = ${id}) as messages,
      (select count(*)::int from executions where tenant_id = ${tenantId} and session_id = ${id}) as executions`);
}
