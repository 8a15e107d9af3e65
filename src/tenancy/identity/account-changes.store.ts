import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

const idRow = z.object({ id: z.string() });

/** The tenants that would be left without an owner, after a lock of all tenants of the user against other changes. */
export async function tenantsOnlyOwnedBy(
  tx: DirectoryTransaction,
  userId: string,
): Promise<readonly string[]> {
  await tx.query(
    sql.unsafe`
      select 1 from tenants where id in (select tenant_id from memberships where user_id = ${userId})
      order by id for update`,
  );
  const rows = await tx.any(
    sql.type(idRow)`
      select m.tenant_id as id from memberships m
      where m.user_id = ${userId} and m.role = 'owner' and not exists (
        select from memberships o where o.tenant_id = m.tenant_id and o.user_id <> m.user_id and o.role = 'owner')
      order by m.tenant_id`,
  );
  return rows.map(({ id }) => id);
}

/** Returns the ids of the tenants. */
export async function leaveAllTenants(tx: DirectoryTransaction, userId: string): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(idRow)`delete from memberships where user_id = ${userId} returning tenant_id as id`,
  );
  return rows.map(({ id }) => id);
}

export async function removeIdentities(tx: DirectoryTransaction, userId: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`delete from outside_identities where user_id = ${userId}`);
}
