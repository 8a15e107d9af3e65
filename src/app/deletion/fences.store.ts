import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Without its fence an activation that is still in memory can write nothing. */
export function removeFences(tx: TenantTransaction, rowsMax: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ gone: z.number() }))`select forget_fences(${rowsMax}) as gone`);
}
