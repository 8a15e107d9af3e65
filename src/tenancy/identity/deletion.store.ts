/** The end of a tenant: the mark that keeps it from being served, and the removal of its last row. */
import { z } from 'zod';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

const named = z.object({ name: z.string() });

/** Locks the tenant until the transaction ends. Null if it does not exist. */
export function lockName(tx: TenantTransaction): Promise<z.output<typeof named> | null> {
  return tx.maybeOne(sql.type(named)`select name from tenants where id = ${tx.scope.tenantId} for update`);
}

/** Keeps the time and the actor of the first request. */
export async function markDeleting(tx: TenantTransaction, actor: string, at: Date): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update tenants set deleting_at = coalesce(deleting_at, ${sql.timestamp(at)}),
      deleted_by = coalesce(deleted_by, ${actor})
    where id = ${tx.scope.tenantId}`);
}

export async function deleteMemberships(tx: TenantTransaction): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`delete from memberships where tenant_id = ${tx.scope.tenantId}`);
}

const claimed = z.object({ id: z.string() });

/**
 * Claims the removal of one tenant's rows for two minutes; null if none is due. Turns and writers of the tenant have half
 * a minute to end. A removal that takes longer gets a second node, which does it no harm.
 */
export function claimRemoval(tx: DirectoryTransaction, now: Date): Promise<z.output<typeof claimed> | null> {
  return tx.maybeOne(sql.type(claimed)`
    update tenants set removal_claimed_at = ${sql.timestamp(now)} where id = (
      select id from tenants
      where deleting_at < ${sql.timestamp(now)} - interval '30 seconds'
        and (removal_claimed_at is null or removal_claimed_at < ${sql.timestamp(now)} - interval '2 minutes')
      order by deleting_at limit 1 for update skip locked)
    returning id`);
}

const removed = z.object({ deleted_by: z.string() });

/** The foreign keys of all that is left cascade. Null if another node has removed the tenant. */
export function removeTenant(
  tx: DirectoryTransaction,
  tenantId: string,
): Promise<z.output<typeof removed> | null> {
  return tx.maybeOne(sql.type(removed)`
    delete from tenants where id = ${tenantId} and deleting_at is not null returning deleted_by`);
}
