import { recordAccountAudit } from '../audit/index.js';
import type { UserCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, Store } from '../../infra/storage/index.js';
import { auditAccount } from './account-audit.js';
import type { Accounts } from './accounts.js';
import { dropAccountTokens } from './account-tokens.store.js';
import { announceFamiliesEnded, announceMembershipsEnded, announceUser, settled } from './changes.js';
import { leaveAllTenants, removeIdentities, tenantsOnlyOwnedBy } from './account-changes.store.js';
import type { Passwords } from './passwords.js';
import { endFamiliesOfUser } from './token-families.store.js';
import { lockUserById, markDeleted, setPassword, type UserRow } from './users.store.js';

/** What a signed-in user changes about the account itself. Wrong passwords count as failed sign-ins. */
export interface AccountChanges {
  /** Ends every other sign-in of the user. */
  changePassword(caller: UserCaller, current: string, next: string): Promise<void>;
  signOutEverywhere(caller: UserCaller): Promise<void>;
  /** Throws `conflict` while the user is the last owner of a tenant. */
  remove(caller: UserCaller, password: string): Promise<void>;
}

export function createAccountChanges(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly accounts: Pick<Accounts, 'confirm' | 'userBySignIn'>;
  readonly passwords: Passwords;
  readonly nowMs: () => number;
}): AccountChanges {
  const { store, changes, accounts, passwords, nowMs } = dependencies;
  return {
    async changePassword(caller, current, next) {
      const shown = await accounts.userBySignIn(caller, current);
      const passwordHash = await passwords.hash(next);
      const change = await store.directory(async (tx) => {
        const user = await lockShown(tx, shown);
        await accounts.confirm(tx, { by: 'token', userId: user.id, familyId: caller.familyId });
        await setPassword(tx, user.id, passwordHash);
        await dropAccountTokens(tx, user.id, 'reset');
        const now = new Date(nowMs());
        const ended = await endFamiliesOfUser(tx, user.id, 'password-changed', now, caller.familyId);
        await auditAccount(tx, user.id, {
          action: 'user.password-changed',
          details: { sign_ins_ended: ended.length },
        });
        return announceFamiliesEnded(tx, user.id, ended);
      });
      await settled(changes, change);
    },

    async signOutEverywhere(caller) {
      const change = await store.directory(async (tx) => {
        const now = new Date(nowMs());
        const ended = await endFamiliesOfUser(tx, caller.userId, 'signed-out-everywhere', now);
        await auditAccount(tx, caller.userId, {
          action: 'user.signed-out-everywhere',
          details: { sign_ins_ended: ended.length },
        });
        return announceUser(tx, caller.userId);
      });
      await settled(changes, change);
    },

    async remove(caller, password) {
      const shown = await accounts.userBySignIn(caller, password);
      const change = await store.directory(async (tx) => {
        // The account comes before its tenants, as in every transaction that locks both.
        const user = await lockShown(tx, shown);
        const owned = await tenantsOnlyOwnedBy(tx, user.id);
        if (owned.length > 0) throw lastOwner(owned);
        const left = await leaveAllTenants(tx, user.id);
        await removeIdentities(tx, user.id);
        await dropAccountTokens(tx, user.id);
        const now = new Date(nowMs());
        await endFamiliesOfUser(tx, user.id, 'deleted', now);
        await markDeleted(tx, user.id, now);
        const subject = `user:${user.id}`;
        const details = { tenants_left: left };
        await recordAccountAudit(tx, left, { actor: subject, action: 'user.deleted', subject, details });
        await announceMembershipsEnded(tx, user.id, left);
        return announceUser(tx, user.id);
      });
      await settled(changes, change);
    },
  };
}

type Tx = Parameters<typeof lockUserById>[0];

/** Locks the account, unless its password has changed since it was checked. */
async function lockShown(tx: Tx, shown: UserRow): Promise<UserRow> {
  const user = await lockUserById(tx, shown.id);
  if (user === null || user.disabled || user.password_hash !== shown.password_hash) {
    throw new PlatformError('invalid_credentials');
  }
  return user;
}

function lastOwner(tenants: readonly string[]): PlatformError {
  return new PlatformError('conflict', {
    message:
      'You are the last owner of a tenant. Make another member its owner, or delete the tenant, first.',
    details: { tenants },
  });
}
