import { z } from 'zod';
import { sql } from './query.js';
import type { Transaction } from './transaction.js';

/** The time of PostgreSQL, for what must not depend on the clock of one node. */
export function storeTime(tx: Transaction): Promise<Date> {
  return tx.oneFirst(sql.type(z.object({ now: z.date() }))`select clock_timestamp() as now`);
}
