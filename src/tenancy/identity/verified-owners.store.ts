import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** Whether an owner of the tenant has verified an address, or the tenant has no owners: then an operator made it. */
export function hasVerifiedOwner(tx: DirectoryTransaction, tenantId: string): Promise<boolean> {
  return tx.oneFirst(
    sql.type(z.object({ verified: z.boolean() }))`
      select coalesce(bool_or(u.email_verified_at is not null), true) as verified
      from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tenantId} and m.role = 'owner'`,
  );
}
