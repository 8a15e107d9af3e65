// Changes to what nodes cache: keys, roles, plans, denylists, settings. A transaction that changes such a
// thing records it, and every node's feed (change-feed.ts) hears of it within a second.
import { z } from 'zod';
import type { Transaction } from './transaction.js';
import { sql } from './query.js';

export type Change = {
  /** Rises by one from change to change, for the whole platform, in the order in which they were committed. */
  readonly number: number;
  /** What kind of thing changed, e.g. `key`; whoever caches it subscribes to that. */
  readonly topic: string;
  /** Null for a thing that belongs to no tenant. */
  readonly tenantId: string | null;
  /** Which one, e.g. a key's id. Names it and shows nothing of it. */
  readonly subject: string;
};

/**
 * Records a change in the transaction that makes it, and answers its number. Other recorders wait from
 * here to the commit, so it is the last thing a transaction does.
 */
export async function recordChange(tx: Transaction, change: Omit<Change, 'number'>): Promise<number> {
  return tx.oneFirst(
    sql.type(z.object({ number: z.number() }))`
      select record_change(${change.topic}, ${change.tenantId}, ${change.subject}) as number`,
  );
}
