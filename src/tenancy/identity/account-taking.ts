import { recordAudit } from '../audit/index.js';
import type { DirectoryTransaction } from '../../infra/storage/index.js';
import {
  announceAll,
  cancelInvites,
  leaveTenant,
  lockTenantsOf,
  removeOtherMembers,
  revokeKeys,
} from './account-taking.store.js';
import { announceUser, topics } from './changes.js';
import { endFamiliesOfUser } from './token-families.store.js';
import { markEmailVerified, removePassword } from './users.store.js';

/** What all nodes must hear of one tenant. */
interface ChangesOfTenant {
  readonly tenantId: string;
  readonly membersGone: readonly string[];
  readonly keysRevoked: readonly string[];
}

const reason = 'the owner of the address signed in for the first time';

/**
 * Gives an account whose address was never proved to the person who has proved it now. Whoever registered it may have
 * been anybody, so nothing that they prepared lets them in any more: not the password, not a session, and in the
 * account's tenants no key, no invitation and no other member. A tenant that somebody else owns too is theirs, and the
 * account leaves it. The caller has locked the user's row. Answers the number of the last change, see `settled`.
 */
export async function giveToOwnerOfAddress(
  tx: DirectoryTransaction,
  userId: string,
  now: Date,
): Promise<number> {
  await removePassword(tx, userId);
  await markEmailVerified(tx, userId, now);
  await endFamiliesOfUser(tx, userId, 'address-proved', now);
  await recordAudit(tx, {
    tenantId: null,
    actor: `user:${userId}`,
    action: 'user.taken-over',
    subject: `user:${userId}`,
    details: { reason },
  });
  const changes: ChangesOfTenant[] = [];
  for (const { tenant_id: tenantId, has_other_owner: isShared } of await lockTenantsOf(tx, userId)) {
    changes.push(isShared ? await leave(tx, tenantId, userId) : await clear(tx, tenantId, userId, now));
  }
  // Last, since whoever records a change holds up all others who do until the commit.
  for (const { tenantId, membersGone, keysRevoked } of changes) {
    await announceAll(tx, topics.membership, tenantId, membersGone);
    await announceAll(tx, topics.revokedKey, tenantId, keysRevoked);
  }
  return announceUser(tx, userId);
}

async function leave(tx: DirectoryTransaction, tenantId: string, userId: string): Promise<ChangesOfTenant> {
  await leaveTenant(tx, tenantId, userId);
  await recordAudit(tx, {
    tenantId,
    actor: `user:${userId}`,
    action: 'member.removed',
    subject: `user:${userId}`,
    details: { reason },
  });
  return { tenantId, membersGone: [userId], keysRevoked: [] };
}

/** The tenant stays with the account, and with it alone. */
async function clear(
  tx: DirectoryTransaction,
  tenantId: string,
  userId: string,
  now: Date,
): Promise<ChangesOfTenant> {
  const membersGone = await removeOtherMembers(tx, tenantId, userId);
  const keysRevoked = await revokeKeys(tx, tenantId, now);
  const invitesCancelled = await cancelInvites(tx, tenantId, now);
  await recordAudit(tx, {
    tenantId,
    actor: `user:${userId}`,
    action: 'tenant.taken-over',
    subject: `tenant:${tenantId}`,
    details: {
      reason,
      members_removed: membersGone,
      keys_revoked: keysRevoked,
      invites_cancelled: invitesCancelled,
    },
  });
  return { tenantId, membersGone, keysRevoked };
}
