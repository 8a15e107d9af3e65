import { recordAudit } from '../audit/index.js';
import { actorOf, isAbove, type Role, type TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, Store, TenantTransaction } from '../../infra/storage/index.js';
import type { EndAccess } from './account-taking.js';
import { announceKeysRevoked, announceMembership, settled } from './changes.js';
import {
  countOwners,
  deleteMember,
  findMember,
  listMembers,
  lockMembers,
  type MemberRow,
  updateMember,
} from './members.store.js';
import type { RoleNow } from './standing.js';

/**
 * The members of a tenant and their roles. Changes of one tenant's members run one after the other, under a lock of the
 * tenant's row, and check the caller's role at that moment: if two owners lower each other at once, one stays owner.
 */
export interface Members {
  list(scope: TenantScope): Promise<readonly MemberRow[]>;
  change(caller: TenantCaller, userId: string, change: MemberChange): Promise<MemberRow>;
  /** `revokeKeys`: also the API keys that the member made. Returns how many were revoked. */
  remove(caller: TenantCaller, userId: string, revokeKeys: boolean): Promise<number>;
}

/** A missing field stays as it is; null removes it. */
export interface MemberChange {
  readonly role?: Role | undefined;
  readonly phone?: string | null | undefined;
  readonly external_id?: string | null | undefined;
}

/**
 * Every change of the platform waits while a transaction records the end of keys, so one records so many at most.
 * A member with more is removed in the last of several transactions; if it fails, the request can be repeated.
 */
const keysAtOnce = 500;

export function createMembers(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly endAccess: Pick<EndAccess, 'revokeKeysOf'>;
  readonly roleNow: RoleNow;
  readonly nowMs: () => number;
}): Members {
  const { store, changes, endAccess, roleNow, nowMs } = dependencies;

  async function underLock(
    tx: TenantTransaction,
    caller: TenantCaller,
    userId: string,
  ): Promise<{ readonly target: MemberRow; readonly callersRole: Role }> {
    await lockMembers(tx);
    const callersRole = await roleNow(tx, caller, 'members:write', new Date(nowMs()));
    const target = await findMember(tx, userId);
    if (target === null) {
      throw new PlatformError('not_found', { message: 'The tenant has no such member.' });
    }
    if (isAbove(target.role, callersRole)) {
      throw new PlatformError('ROLE_ESCALATION_DENIED', {
        message: `The role ${callersRole} cannot change or remove a member with the role ${target.role}, which is above it.`,
      });
    }
    return { target, callersRole };
  }

  /** Removes the member, or revokes as many of the member's keys as one transaction may, if there are more. */
  async function removeOrRevoke(
    tx: TenantTransaction,
    caller: TenantCaller,
    userId: string,
    revokeKeys: boolean,
  ): Promise<{ readonly revoked: number; readonly isRemoved: boolean; readonly number: number | undefined }> {
    const { tenantId } = caller.scope;
    const { target } = await underLock(tx, caller, userId);
    if (target.role === 'owner') await refuseLastOwner(tx);
    const at = new Date(nowMs());
    const keys = revokeKeys ? await endAccess.revokeKeysOf(tx, userId, at, keysAtOnce) : [];
    const entry = { tenantId, actor: actorOf(caller) };
    if (keys.length === keysAtOnce) {
      await recordAudit(tx, {
        ...entry,
        action: 'member.keys-revoked',
        subject: `tenant:${tenantId}`,
        details: { user: userId, keys_revoked: keys },
      });
      return {
        revoked: keys.length,
        isRemoved: false,
        number: await announceKeysRevoked(tx, tenantId, keys),
      };
    }
    await deleteMember(tx, userId);
    await recordAudit(tx, {
      ...entry,
      action: 'member.removed',
      subject: `user:${userId}`,
      details: { role: target.role, ...(revokeKeys ? { keys_revoked: keys } : {}) },
      changes: { role: { old: target.role, new: null } },
    });
    await announceKeysRevoked(tx, tenantId, keys);
    return {
      revoked: keys.length,
      isRemoved: true,
      number: await announceMembership(tx, tenantId, userId),
    };
  }

  return {
    list: (scope) => store.inTenant(scope, listMembers),

    async change(caller, userId, change) {
      const { scope } = caller;
      const { member, number } = await store.inTenant(scope, async (tx) => {
        const { target, callersRole } = await underLock(tx, caller, userId);
        const role = change.role ?? target.role;
        if (isAbove(role, callersRole)) {
          throw new PlatformError('ROLE_ESCALATION_DENIED', {
            message: `The role ${callersRole} cannot give the role ${role}, which is above it.`,
          });
        }
        if (target.role === 'owner' && role !== 'owner') await refuseLastOwner(tx);
        const after = {
          ...target,
          role,
          phone: change.phone === undefined ? target.phone : change.phone,
          external_id: change.external_id === undefined ? target.external_id : change.external_id,
        };
        await updateMember(tx, userId, { role, phone: after.phone, externalId: after.external_id });
        if (role !== target.role) {
          await recordAudit(tx, {
            tenantId: scope.tenantId,
            actor: actorOf(caller),
            action: 'member.role-changed',
            subject: `user:${userId}`,
            details: { from: target.role, to: role },
            changes: { role: { old: target.role, new: role } },
          });
        }
        return { member: after, number: await announceMembership(tx, scope.tenantId, userId) };
      });
      await settled(changes, number);
      return member;
    },

    async remove(caller, userId, revokeKeys) {
      const { scope } = caller;
      for (let revoked = 0; ;) {
        const step = await store.inTenant(scope, (tx) => removeOrRevoke(tx, caller, userId, revokeKeys));
        revoked += step.revoked;
        if (!step.isRemoved) continue;
        await settled(changes, step.number);
        return revoked;
      }
    },
  };
}

async function refuseLastOwner(tx: TenantTransaction): Promise<void> {
  if ((await countOwners(tx)) > 1) return;
  throw new PlatformError('conflict', {
    message: 'A tenant must keep at least one owner. Make another member the owner first.',
  });
}
