import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** When a key of each tenant was last used; a tenant whose keys were never used has no entry. */
export async function lastUseOfTenants(
  tx: DirectoryTransaction,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await tx.any(sql.type(z.object({ tenant_id: z.string(), last_used_at: z.date() }))`
    select tenant_id, max(last_used_at) as last_used_at from api_key_use
    where tenant_id = any(${sql.array([...tenantIds], 'uuid')}) and last_used_at is not null
    group by tenant_id`);
  return new Map(rows.map((row) => [row.tenant_id, row.last_used_at]));
}
