import type { Role, TenantCaller, TenantUserCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Permission } from '../../http/operations/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import { holdMembers, standingOf } from './members.store.js';

/**
 * The role that the caller has now, in a transaction that changes members, keys or invitations. A request may wait for
 * its body or its turn while its caller is removed, lowered or signed out, or while its key is revoked. Throws what a
 * new request would get, also if the role no longer has the permission.
 *
 * Call it before the first write. It holds the tenant's members and the key as they are until the transaction ends: a
 * change that takes the caller's access away has either committed and is seen here, or comes after this transaction.
 */
export type RoleNow = (
  tx: TenantTransaction,
  caller: TenantCaller,
  permission: Permission,
  now: Date,
) => Promise<Role>;

/** The part of `RoleNow` that no caller's kind changes. */
export async function holdTenant(tx: TenantTransaction): Promise<void> {
  const tenant = await holdMembers(tx);
  if (tenant === null || tenant.deleting) throw new PlatformError('tenant_not_found');
  if (tenant.suspended) throw new PlatformError('tenant_suspended');
}

/** The part of `RoleNow` for users. Call it after `holdTenant`. */
export async function roleOfUser(tx: TenantTransaction, caller: TenantUserCaller): Promise<Role> {
  const { signed_in: isSignedIn, role } = await standingOf(tx, caller);
  if (!isSignedIn) throw new PlatformError('invalid_token');
  if (role === null) throw new PlatformError('tenant_not_found');
  return role;
}
