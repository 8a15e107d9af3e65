import { type ChangeFeed, recordChange, type TenantTransaction } from '../infra/storage/index.js';

/** What runs of an agent has changed, or that it runs. The subject is the agent's id. */
export const agentTopic = 'agent';

/** The last thing that the transaction does. */
export function announceAgent(tx: TenantTransaction, agentId: string): Promise<number> {
  return recordChange(tx, { topic: agentTopic, tenantId: tx.scope.tenantId, subject: agentId });
}

/** Longer than the feed counts as fresh without reading. */
const settledWithinMs = 2_500;

/**
 * Waits, after the commit, until this node has heard of the change, so that whoever gets the answer finds it in force.
 * When the feed is away for so long, what is remembered is not trusted any more, which comes to the same.
 */
export async function settled(feed: ChangeFeed, change: number): Promise<void> {
  await feed.reached(change, settledWithinMs);
}
