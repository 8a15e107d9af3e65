import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Sums of the tenant's next days; returns how many days it went on, less than `daysMax` at the end. */
export function sumDays(tx: TenantTransaction, daysMax: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ days: z.number() }))`select sum_call_days(${daysMax}) as days`);
}
