import { z } from 'zod';
import {
  type ChangeFeed,
  type DirectoryTransaction,
  recordChange,
  sql,
  type Transaction,
} from '../../infra/storage/index.js';

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

export async function announceFamiliesEnded(
  tx: DirectoryTransaction,
  familyIds: readonly string[],
): Promise<number | undefined> {
  return lastOf(
    await tx.any(
      sql.type(numbered)`
        select record_change(${topics.family}, null, family) as number
        from unnest(${sql.array([...familyIds], 'text')}) as ended (family)`,
    ),
  );
}

/** Announces all memberships of a user whose address was verified: their tenants may have had no verified owner. */
export async function announceMemberships(
  tx: DirectoryTransaction,
  userId: string,
): Promise<number | undefined> {
  return lastOf(
    await tx.any(
      sql.type(numbered)`
        select record_change(${topics.membership}, tenant_id, user_id::text) as number
        from memberships where user_id = ${userId}`,
    ),
  );
}

export async function announceMembershipsEnded(
  tx: DirectoryTransaction,
  userId: string,
  tenantIds: readonly string[],
): Promise<number | undefined> {
  return lastOf(
    await tx.any(
      sql.type(numbered)`
        select record_change(${topics.membership}, tenant, ${userId}) as number
        from unnest(${sql.array([...tenantIds], 'uuid')}) as left_tenant (tenant)`,
    ),
  );
}

const numbered = z.object({ number: z.number() });

function lastOf(rows: readonly z.output<typeof numbered>[]): number | undefined {
  return rows.reduce<number | undefined>(
    (last, { number }) => (last === undefined || number > last ? number : last),
    undefined,
  );
}

export function announceMembership(tx: Transaction, tenantId: string, userId: string): Promise<number> {
  return recordChange(tx, { topic: topics.membership, tenantId, subject: userId });
}

export function announceKeyRevoked(tx: Transaction, tenantId: string, keyId: string): Promise<number> {
  return recordChange(tx, { topic: topics.revokedKey, tenantId, subject: keyId });
}

export function announceTenant(tx: Transaction, tenantId: string): Promise<number> {
  return recordChange(tx, { topic: topics.tenant, tenantId, subject: tenantId });
}

export function announceSuspension(tx: Transaction, tenantId: string): Promise<number> {
  return recordChange(tx, { topic: topics.suspendedTenant, tenantId, subject: tenantId });
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
