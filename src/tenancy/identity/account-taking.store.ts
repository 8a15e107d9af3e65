import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

const tenantRow = z.object({ tenant_id: z.string(), has_other_owner: z.boolean() });

export type TenantOfAccount = z.output<typeof tenantRow>;

/**
 * The tenants of an account, locked: a transaction that adds a member, a key or an invitation to one of them has
 * committed before, or waits until this one ends.
 */
export async function lockTenantsOf(
  tx: DirectoryTransaction,
  userId: string,
): Promise<readonly TenantOfAccount[]> {
  await tx.query(
    sql.unsafe`
      select 1 from tenants where id in (select tenant_id from memberships where user_id = ${userId})
      order by id for update`,
  );
  return tx.any(
    sql.type(tenantRow)`
      select m.tenant_id, exists (
        select from memberships o where o.tenant_id = m.tenant_id and o.user_id <> m.user_id and o.role = 'owner'
      ) as has_other_owner
      from memberships m where m.user_id = ${userId} order by m.tenant_id`,
  );
}

export async function leaveTenant(tx: DirectoryTransaction, tenantId: string, userId: string): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`delete from memberships where tenant_id = ${tenantId} and user_id = ${userId}`,
  );
}

const idRow = z.object({ id: z.string() });

/** Returns the ids of the removed users. */
export async function removeOtherMembers(
  tx: DirectoryTransaction,
  tenantId: string,
  userId: string,
): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(idRow)`
      delete from memberships where tenant_id = ${tenantId} and user_id <> ${userId} returning user_id as id`,
  );
  return rows.map(({ id }) => id);
}
