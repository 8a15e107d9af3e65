// Changes to data that nodes cache: keys, roles, plans, denylists, settings. A transaction that changes such data
// records the change, and the feed of every node (change-feed.ts) receives it within a second.
import { z } from 'zod';
import type { Transaction } from './transaction.js';
import { sql } from './query.js';

export type Change = {
  /** Increases by one per change, for the whole platform, in commit order. */
  readonly number: number;
  /** The kind of the changed thing, e.g. `key`; caches subscribe to it. */
  readonly topic: string;
  /** Null if the thing belongs to no tenant. */
  readonly tenantId: string | null;
  /** The id of the changed thing, e.g. a key's id. Contains none of its data. */
  readonly subject: string;
};

/**
 * Records a change in the transaction that makes it, and returns its number. Other recorders wait until the commit, so
 * this must be the last statement of a transaction.
 */
export async function recordChange(tx: Transaction, change: Omit<Change, 'number'>): Promise<number> {
  return tx.oneFirst(
    sql.type(z.object({ number: z.number() }))`
      select record_change(${change.topic}, ${change.tenantId}, ${change.subject}) as number`,
  );
}

/**
 * The same for several changes, in one statement. Others wait for the longer the more there are, so a caller whose
 * number of changes has no small bound announces something that covers them, or works in parts.
 */
export function recordChanges(
  tx: Transaction,
  changes: readonly Omit<Change, 'number'>[],
): Promise<number | undefined> {
  return tx
    .oneFirst(
      sql.type(z.object({ number: z.number().nullable() }))`
        select record_changes(
          ${sql.array(
            changes.map(({ topic }) => topic),
            'text',
          )},
          ${sql.array(
            changes.map(({ tenantId }) => tenantId),
            'uuid',
          )},
          ${sql.array(
            changes.map(({ subject }) => subject),
            'text',
          )}) as number`,
    )
    .then((number) => number ?? undefined);
}
