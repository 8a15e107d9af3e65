import { type ChangeFeed, recordChange, type Transaction } from '../../infra/storage/index.js';

/** What of this subject nodes remember, and so must hear of when it changes. */
export const topics = {
  /** Subject: the family's id. Its access tokens are void. */
  family: 'token-family',
  /** Subject: the user's id. Every sign-in to the account is void: it was disabled, or somebody proved to own it. */
  user: 'user',
  /** Subject: the user's id, in a tenant: joined, left, or has another role. */
  membership: 'membership',
  /** Subject: the tenant's id: another name, plan or figures. */
  tenant: 'tenant',
  /** Subject: the key's id. */
  signingKey: 'signing-key',
  /** Subject: the API key's id, in a tenant: it was revoked. `src/keys` listens. */
  revokedKey: 'key-revoked',
} as const;

export function announceFamilyEnded(tx: Transaction, familyId: string): Promise<number> {
  return recordChange(tx, { topic: topics.family, tenantId: null, subject: familyId });
}

export function announceUser(tx: Transaction, userId: string): Promise<number> {
  return recordChange(tx, { topic: topics.user, tenantId: null, subject: userId });
}

export function announceMembership(tx: Transaction, tenantId: string, userId: string): Promise<number> {
  return recordChange(tx, { topic: topics.membership, tenantId, subject: userId });
}

export function announceTenant(tx: Transaction, tenantId: string): Promise<number> {
  return recordChange(tx, { topic: topics.tenant, tenantId, subject: tenantId });
}

export function announceSigningKey(tx: Transaction, keyId: string): Promise<number> {
  return recordChange(tx, { topic: topics.signingKey, tenantId: null, subject: keyId });
}

/** Longer than the feed counts as fresh without reading. */
const settledWithinMs = 2_500;

/**
 * Waits, after the commit, until this node has acted on the change, so that whoever gets the answer finds it in force.
 * When the feed is away for so long, the node no longer trusts what it remembers, which comes to the same.
 */
export async function settled(feed: ChangeFeed, change: number | undefined): Promise<void> {
  if (change !== undefined) await feed.reached(change, settledWithinMs);
}
