import { type ChangeFeed, recordChange, type TenantTransaction } from '../infra/storage/index.js';

/** Reports that an agent was published, unpublished or changed while published. The subject is the agent's id. */
export const agentTopic = 'agent';

/** Reports that a working copy or its schemas changed. Nothing is cached of them: only subscribers listen. */
export const draftTopic = 'agent_draft';

/** Must be the last statement of the transaction: other recorders of changes wait from here to the commit. */
export function announceAgent(tx: TenantTransaction, agentId: string): Promise<number> {
  return recordChange(tx, { topic: agentTopic, tenantId: tx.scope.tenantId, subject: agentId });
}

/** Must be the last statement of the transaction, like the announcement of an agent. */
export async function announceDraft(tx: TenantTransaction, agentId: string): Promise<void> {
  await recordChange(tx, { topic: draftTopic, tenantId: tx.scope.tenantId, subject: agentId });
}

/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

/**
 * Waits, after the commit, until this node has read the change, so that the caller finds it in force. If the feed
 * is unavailable for that long, caches are not trusted anyway, which has the same effect.
 */
export async function settled(feed: ChangeFeed, change: number): Promise<void> {
  await feed.reached(change, settledWithinMs);
}
