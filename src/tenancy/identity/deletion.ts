import { recordAudit } from '../audit/index.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { DirectoryTransaction, TenantTransaction } from '../../infra/storage/index.js';
import { announceDeletion } from './changes.js';
import { deleteMemberships, lockName, markDeleting, removeTenant } from './deletion.store.js';

export { claimRemoval } from './deletion.store.js';

/**
 * From the commit on nothing of the tenant is served: every node drops what it knows of it within a second. Throws
 * `tenant_not_found`, or `validation_error` if `confirm` is not the tenant's name.
 */
export async function endTenant(
  tx: TenantTransaction,
  { confirm, actor, at }: { readonly confirm: string; readonly actor: string; readonly at: Date },
): Promise<void> {
  const { tenantId } = tx.scope;
  const tenant = await lockName(tx);
  if (tenant === null) throw new PlatformError('tenant_not_found');
  if (tenant.name !== confirm) throw invalidField('confirm', "must be the tenant's name");
  await markDeleting(tx, actor, at);
  await deleteMemberships(tx);
  await recordAudit(tx, { tenantId, actor, action: 'tenant.deleting', subject: `tenant:${tenantId}` });
}

/** The last statement of that transaction. */
export function announceEnd(tx: TenantTransaction): Promise<number | undefined> {
  return announceDeletion(tx, tx.scope.tenantId);
}

/** Removes the tenant's row and all that its foreign keys name. The platform keeps one entry: who, which id, when. */
export async function removeEndedTenant(tx: DirectoryTransaction, tenantId: string): Promise<void> {
  const removed = await removeTenant(tx, tenantId);
  if (removed === null) return;
  const entry = { actor: removed.deleted_by, action: 'tenant.deleted', subject: `tenant:${tenantId}` };
  await recordAudit(tx, { tenantId: null, ...entry });
}
