import { z } from 'zod';
import { recordAudit } from '../audit/index.js';
import type { AnonymousCaller, UserCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { type Accounts, hashOfToken, newPassword, type SignedIn, type UserRow } from '../identity/index.js';
import { validate } from '../../http/operations/index.js';
import type { DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { findByToken, type InviteRow, lockByToken, markAccepted } from './invites.store.js';

/**
 * Accepts an invitation. The token proves that the caller reads the invited address's mail; for an existing account the
 * caller must also prove that it is theirs. Without an account the token is enough to make one. Either way the account's
 * address is verified: a person who registered it without owning it could not have shown both.
 */
export interface Acceptance {
  readonly token: string;
  readonly name?: string | undefined;
  readonly password?: string | undefined;
}

export type Accept = (caller: AnonymousCaller | UserCaller, acceptance: Acceptance) => Promise<SignedIn>;

const passwordBody = z.object({ password: newPassword });

/** Finds the joining user: checked before the transaction, since a password hash takes time, and confirmed in it. */
type FindUser = (tx: DirectoryTransaction) => Promise<UserRow>;

export function createAccept(dependencies: {
  readonly store: Store;
  readonly accounts: Accounts;
  readonly nowMs: () => number;
}): Accept {
  const { store, accounts, nowMs } = dependencies;

  async function whoJoins(
    caller: AnonymousCaller | UserCaller,
    invite: InviteRow,
    { name, password }: Acceptance,
  ): Promise<FindUser> {
    const account = await accounts.findByEmail(invite.email);
    if (account === null) {
      await accounts.checkRegistration(invite.email);
      validate(passwordBody, password === undefined ? {} : { password });
      const prepared = await accounts.prepare({ email: invite.email, name, password: password ?? '' });
      return async (tx) =>
        (await accounts.insert(tx, prepared, new Date(nowMs()))) ?? raiseConflict(registeredMeanwhile);
    }
    if (caller.kind === 'user' && caller.userId === account.id) {
      const { userId, familyId } = caller;
      return (tx) => accounts.confirm(tx, { by: 'token', userId, familyId });
    }
    if (password === undefined) throw new PlatformError('invalid_credentials', { message: needsAccount });
    const user = await accounts.userByPassword(invite.email, password, caller.address);
    return (tx) => accounts.confirm(tx, { by: 'password', user });
  }

  return async (caller, acceptance) => {
    const tokenHash = hashOfToken(acceptance.token);
    const seen = await store.directory((tx) => findByToken(tx, tokenHash, new Date(nowMs())));
    if (seen === null) throw unknownToken();
    const findUser = await whoJoins(caller, seen, acceptance);
    const { entry, change } = await store.directory(async (tx) => {
      const now = new Date(nowMs());
      // Read again under its lock: a concurrent request may have accepted or cancelled it.
      const invite = await lockByToken(tx, tokenHash, now);
      if (invite === null) throw unknownToken();
      const user = await accounts.proveAddress(tx, await findUser(tx));
      const { tenant_id: tenantId, role } = invite;
      if (!(await accounts.join(tx, { tenantId, userId: user.id, role }))) raiseConflict(memberAlready);
      await markAccepted(tx, invite, user.id, now);
      await recordAudit(tx, {
        tenantId,
        actor: `user:${user.id}`,
        action: 'member.joined',
        subject: `user:${user.id}`,
        details: { invite: invite.id, role, invited_by: invite.invited_by },
        changes: { role: { old: null, new: role } },
      });
      const admitted = await accounts.admit(tx, user);
      return { entry: admitted, change: await accounts.announceJoined(tx, user.id) };
    });
    await accounts.settled(change);
    return accounts.answerFor(entry);
  };
}

const needsAccount = 'This address has an account: sign in, or give its password.';
const registeredMeanwhile = 'This address has an account now: sign in, or give its password.';
const memberAlready = 'This account belongs to the tenant already.';

function raiseConflict(message: string): never {
  throw new PlatformError('conflict', { message });
}

/** Used, cancelled, expired and unknown tokens get the same error. */
function unknownToken(): PlatformError {
  return new PlatformError('not_found', {
    message: 'This invitation is invalid or has expired. Ask for a new one.',
  });
}
