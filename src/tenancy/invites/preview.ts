import type { Role } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { type Accounts, hashOfToken, namesInDirectory } from '../identity/index.js';
import type { Store } from '../../infra/storage/index.js';
import { findByToken } from './invites.store.js';
import { namelessInviter } from './invites.js';

/** What the page of a join link shows before anything is submitted. */
export type InvitePreview =
  | { readonly usable: false; readonly reason: string }
  | {
      readonly usable: true;
      readonly tenant: string;
      readonly inviter: string;
      readonly email: string;
      readonly role: Role;
      readonly hasAccount: boolean;
    };

export type PreviewInvite = (token: string) => Promise<InvitePreview>;

const reason = 'This invitation is invalid or has expired. Ask for another one.';

/** The holder of the token reads the mail of the address, so the page may tell whether it has an account. */
export function createPreview(dependencies: {
  readonly store: Store;
  readonly accounts: Pick<Accounts, 'findByEmail' | 'checkRegistration'>;
  readonly nowMs: () => number;
}): PreviewInvite {
  const { store, accounts, nowMs } = dependencies;
  return async (token) => {
    const found = await store.directory(async (tx) => {
      const invite = await findByToken(tx, hashOfToken(token), new Date(nowMs()));
      if (invite === null) return undefined;
      return { invite, names: await namesInDirectory(tx, invite.tenant_id, invite.invited_by) };
    });
    if (found === undefined) return { usable: false, reason };
    const { email, role } = found.invite;
    const hasAccount = (await accounts.findByEmail(email)) !== null;
    if (!hasAccount) {
      const closed = await refusalOf(() => accounts.checkRegistration(email));
      if (closed !== undefined) return { usable: false, reason: closed };
    }
    const { tenant, user } = found.names;
    return {
      usable: true,
      tenant,
      inviter: user ?? namelessInviter(found.invite.invited_by),
      email,
      role,
      hasAccount,
    };
  };
}

async function refusalOf(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'registration_closed') return error.message;
    throw error;
  }
}
