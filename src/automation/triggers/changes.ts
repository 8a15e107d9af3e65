import { type ChangeFeed, recordChange, type TenantTransaction } from '../../infra/storage/index.js';

/** A trigger was changed or deleted. The subject is its id. */
export const triggerTopic = 'trigger';

/** Must be the last statement of the transaction. */
export function announceTrigger(tx: TenantTransaction, id: string): Promise<number> {
  return recordChange(tx, { topic: triggerTopic, tenantId: tx.scope.tenantId, subject: id });
}

/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

/** Waits after the commit until this node acts on the change, so that the caller finds it in force. */
export async function settled(feed: ChangeFeed, change: number): Promise<void> {
  await feed.reached(change, settledWithinMs);
}
