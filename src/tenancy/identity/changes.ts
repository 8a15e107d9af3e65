import {
  type Change,
  type ChangeFeed,
  type DirectoryTransaction,
  recordChange,
  recordChanges,
  type Transaction,
} from '../../infra/storage/index.js';
import { tenantIdsOf } from './memberships.store.js';

/** The topics of changes to values that nodes cache. */
export const topics = {
  /** Subject: the family's id. Its access tokens are invalid. */
  family: 'token-family',
  /** Subject: the user's id. Every sign-in is invalid: the account was disabled, or its owner proved the address. */
  user: 'user',
  /** Subject: the user's id, in a tenant: joined, left, or got another role. */
  membership: 'membership',
  /** Subject: the tenant's id: another name, plan or figures. */
  tenant: 'tenant',
  /** Subject: the tenant's id: it was suspended. Its streams and turns end. */
  suspendedTenant: 'tenant-suspended',
  /** Subject: the tenant's id: it was deleted. Its streams end. A suspension of it follows in the same commit. */
  deletedTenant: 'tenant-deleted',
  /** Subject: the key's id. */
  signingKey: 'signing-key',
  /** Subject: the API key's id, in a tenant: it was revoked. `tenancy/keys` subscribes. */
  revokedKey: 'key-revoked',
} as const;

export function announceFamilyEnded(tx: Transaction, familyId: string): Promise<number> {
  return recordChange(tx, { topic: topics.family, tenantId: null, subject: familyId });
}

export function announceUser(tx: Transaction, userId: string): Promise<number> {
  return recordChange(tx, { topic: topics.user, tenantId: null, subject: userId });
}

/** Up to so many changes of one kind are announced each by itself; above it, by a change that covers them. */
const announcedEachMax = 100;

/**
 * Announces the end of sign-ins of one user. Many are announced as a change of the user: nodes then look all sign-ins
 * of the user up again, and the streams of one that stays are cut, too.
 */
export function announceFamiliesEnded(
  tx: DirectoryTransaction,
  userId: string,
  familyIds: readonly string[],
): Promise<number | undefined> {
  if (familyIds.length > announcedEachMax) return announceUser(tx, userId);
  return recordChanges(
    tx,
    familyIds.map((subject) => ({ topic: topics.family, tenantId: null, subject })),
  );
}

/** Announces all memberships of a user whose address was verified: their tenants may have had no verified owner. */
export async function announceMemberships(
  tx: DirectoryTransaction,
  userId: string,
): Promise<number | undefined> {
  return announceMembershipsEnded(tx, userId, await tenantIdsOf(tx, userId));
}

export function announceMembershipsEnded(
  tx: DirectoryTransaction,
  userId: string,
  tenantIds: readonly string[],
): Promise<number | undefined> {
  return recordChanges(
    tx,
    tenantIds.map((tenantId) => ({ topic: topics.membership, tenantId, subject: userId })),
  );
}

/** Which members and keys of a tenant have ended. */
export interface AccessLost {
  readonly tenantId: string;
  readonly members: readonly string[];
  readonly keys: readonly string[];
  /** Nobody else has access to the tenant. */
  readonly isAll: boolean;
}

/**
 * Announces that members and keys of tenants have ended. If all access of a tenant has, and it was much, the tenant is
 * announced as at a suspension: nodes read it again, and cut its streams and turns.
 */
export function announceAccessLost(
  tx: DirectoryTransaction,
  lost: readonly AccessLost[],
): Promise<number | undefined> {
  return recordChanges(tx, lost.flatMap(changesOf));
}

function changesOf({ tenantId, members, keys, isAll }: AccessLost): readonly Omit<Change, 'number'>[] {
  if (isAll && members.length + keys.length > announcedEachMax) {
    return [topics.tenant, topics.suspendedTenant].map((topic) => ({ topic, tenantId, subject: tenantId }));
  }
  return [
    ...members.map((subject) => ({ topic: topics.membership, tenantId, subject })),
    ...keys.map((subject) => ({ topic: topics.revokedKey, tenantId, subject })),
  ];
}

/** Announces that keys of one tenant were revoked. The caller bounds their number. */
export function announceKeysRevoked(
  tx: Transaction,
  tenantId: string,
  keyIds: readonly string[],
): Promise<number | undefined> {
  return recordChanges(
    tx,
    keyIds.map((subject) => ({ topic: topics.revokedKey, tenantId, subject })),
  );
}

export function announceMembership(tx: Transaction, tenantId: string, userId: string): Promise<number> {
  return recordChange(tx, { topic: topics.membership, tenantId, subject: userId });
}

export function announceTenant(tx: Transaction, tenantId: string): Promise<number> {
  return recordChange(tx, { topic: topics.tenant, tenantId, subject: tenantId });
}

export function announceSuspension(tx: Transaction, tenantId: string): Promise<number> {
  return recordChange(tx, { topic: topics.suspendedTenant, tenantId, subject: tenantId });
}

/**
 * Announces the end of a tenant. Caches are dropped before streams and turns end. Nodes of the version before know no
 * `deletedTenant`: they end streams at the suspension, at which all nodes end the turns.
 */
export function announceDeletion(tx: Transaction, tenantId: string): Promise<number | undefined> {
  const { tenant, deletedTenant, suspendedTenant } = topics;
  return recordChanges(
    tx,
    [tenant, deletedTenant, suspendedTenant].map((topic) => ({ topic, tenantId, subject: tenantId })),
  );
}

export function announceSigningKey(tx: Transaction, keyId: string): Promise<number> {
  return recordChange(tx, { topic: topics.signingKey, tenantId: null, subject: keyId });
}

/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

/**
 * Waits, after the commit, until this node has applied the change, so that it is in force when the caller gets the
 * answer. If the feed is away for this time, the node no longer trusts its caches, which has the same effect.
 */
export async function settled(feed: ChangeFeed, change: number | undefined): Promise<void> {
  if (change !== undefined) await feed.reached(change, settledWithinMs);
}
