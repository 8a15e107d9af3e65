import { recordAudit } from '../audit/index.js';
import type { DirectoryTransaction, TenantTransaction } from '../../infra/storage/index.js';
import { addressProved, auditAccount } from './account-audit.js';
import { leaveTenant, lockTenantsOf, removeOtherMembers } from './account-taking.store.js';
import { type AccessLost, announceAccessLost, announceMemberships, announceUser } from './changes.js';
import { endFamiliesOfUser } from './token-families.store.js';
import { markEmailVerified, removePassword } from './users.store.js';

/**
 * How the subjects above identity end, in the transaction of the takeover, what members of a tenant could still use.
 * Each returns the ids of what it ended.
 */
export interface EndAccess {
  revokeKeys(tx: DirectoryTransaction, tenantId: string, at: Date): Promise<readonly string[]>;
  cancelInvites(tx: DirectoryTransaction, tenantId: string, at: Date): Promise<readonly string[]>;
  /** Revokes keys that this user made in the tenant of the transaction, at most `max`. */
  revokeKeysOf(tx: TenantTransaction, userId: string, at: Date, max: number): Promise<readonly string[]>;
}

const reason = 'the owner of the address signed in for the first time';

/**
 * Gives an account with an unproved email address to the person who has now proved it. Anyone may have registered the
 * account, so everything prepared with it stops working: the password, the sessions, and in the account's tenants the
 * keys, the invitations and the other members. A tenant with another owner stays with that owner, and the account
 * leaves it. The caller has locked the user's row. Returns the number of the last change, see `settled`.
 */
export async function giveToOwnerOfAddress(
  tx: DirectoryTransaction,
  userId: string,
  now: Date,
  endAccess: EndAccess,
): Promise<number> {
  await removePassword(tx, userId);
  await markEmailVerified(tx, userId, now);
  await endFamiliesOfUser(tx, userId, 'address-proved', now);
  await auditAccount(tx, userId, { action: 'user.taken-over', details: { reason }, changes: addressProved });
  const lost: AccessLost[] = [];
  for (const { tenant_id: tenantId, has_other_owner: isShared } of await lockTenantsOf(tx, userId)) {
    lost.push(
      isShared ? await leave(tx, tenantId, userId) : await clear(tx, tenantId, userId, { now, endAccess }),
    );
  }
  // Last, since recording a change blocks all other transactions that record one until the commit.
  await announceAccessLost(tx, lost);
  await announceMemberships(tx, userId);
  return announceUser(tx, userId);
}

async function leave(tx: DirectoryTransaction, tenantId: string, userId: string): Promise<AccessLost> {
  await leaveTenant(tx, tenantId, userId);
  await recordAudit(tx, {
    tenantId,
    actor: `user:${userId}`,
    action: 'member.removed',
    subject: `user:${userId}`,
    details: { reason },
  });
  return { tenantId, members: [userId], keys: [], isAll: false };
}

/** Leaves the account as the tenant's only member. */
async function clear(
  tx: DirectoryTransaction,
  tenantId: string,
  userId: string,
  { now, endAccess }: { readonly now: Date; readonly endAccess: EndAccess },
): Promise<AccessLost> {
  const members = await removeOtherMembers(tx, tenantId, userId);
  const keys = await endAccess.revokeKeys(tx, tenantId, now);
  const invitesCancelled = await endAccess.cancelInvites(tx, tenantId, now);
  await recordAudit(tx, {
    tenantId,
    actor: `user:${userId}`,
    action: 'tenant.taken-over',
    subject: `tenant:${tenantId}`,
    details: {
      reason,
      members_removed: members,
      keys_revoked: keys,
      invites_cancelled: invitesCancelled,
    },
  });
  return { tenantId, members, keys, isAll: true };
}
