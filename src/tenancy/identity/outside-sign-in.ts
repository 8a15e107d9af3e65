import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { auditAccount } from './account-audit.js';
import { accountDisabled } from './disabled-account.js';
import { type EndAccess, giveToOwnerOfAddress } from './account-taking.js';
import { settled } from './changes.js';
import {
  findLinked,
  insertIdentity,
  type LinkedRow,
  type OutsideIdentity,
} from './outside-identities.store.js';
import type { OutsideIssuer } from './outside-issuer.js';
import { isDisabled, lockUserByEmail } from './users.store.js';

/**
 * Finds or makes the account of a person of an external issuer. Issuer and subject identify the person. The verified
 * address is used once, to link an existing account: addresses change owners, subjects do not.
 */
export type OutsideSignIn = (
  bearer: string,
  issuer: OutsideIssuer,
) => Promise<{ readonly userId: string; readonly expiresAtMs: number }>;

export function createOutsideSignIn(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly endAccess: EndAccess;
  readonly nowMs: () => number;
}): OutsideSignIn {
  const { store, changes, endAccess, nowMs } = dependencies;

  async function link(identity: OutsideIdentity, email: string): Promise<LinkedRow> {
    const { userId, change } = await store.directory(async (tx) => {
      const now = new Date(nowMs());
      const user = await lockUserByEmail(tx, email);
      if (user === null || user.disabled) throw noAccount();
      if (!(await insertIdentity(tx, { ...identity, userId: user.id, at: now }))) {
        return { userId: await linkedBefore(tx, identity), change: undefined };
      }
      await auditAccount(tx, user.id, {
        action: 'user.identity-linked',
        details: { issuer: identity.issuer, address_was_verified: user.email_verified },
      });
      const taken = user.email_verified ? undefined : await giveToOwnerOfAddress(tx, user.id, now, endAccess);
      return { userId: user.id, change: taken };
    });
    await settled(changes, change);
    return { user_id: userId, disabled: false };
  }

  return async (bearer, issuer) => {
    const { subject, email, expiresAtMs } = await issuer.verify(bearer);
    const identity = { issuer: issuer.issuer, subject };
    let linked = await store.directory((tx) => findLinked(tx, identity));
    if (linked === null) {
      if (email === undefined) throw notVerified();
      linked = await link(identity, email);
    }
    if (linked.disabled) throw await store.directory((tx) => refusalOf(tx, linked.user_id));
    return { userId: linked.user_id, expiresAtMs };
  };
}

/** A concurrent request of the same person was first, or the account belongs to another person of the same issuer. */
async function linkedBefore(tx: DirectoryTransaction, identity: OutsideIdentity): Promise<string> {
  const linked = await findLinked(tx, identity);
  if (linked === null) throw linkedToAnother();
  if (linked.disabled) throw noAccount();
  return linked.user_id;
}

async function refusalOf(tx: DirectoryTransaction, userId: string): Promise<PlatformError> {
  return (await isDisabled(tx, userId)) ? accountDisabled() : noAccount();
}

function noAccount(): PlatformError {
  return new PlatformError('invalid_token', {
    message: 'The address of this token has no account here. Register it first, or accept an invitation.',
  });
}

function notVerified(): PlatformError {
  return new PlatformError('invalid_token', {
    message:
      'The issuer has not verified the address of this token, and its subject has not signed in before.',
  });
}

function linkedToAnother(): PlatformError {
  return new PlatformError('invalid_token', {
    message: 'Another person of this issuer signs in to the account of this address.',
  });
}
