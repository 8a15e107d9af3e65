import type { FragmentSqlToken } from 'slonik';
import { sql } from './query.js';
import type { TenantTransaction } from './transaction.js';

/** Deletes at most `rowsMax` rows of the tenant, of any age, and returns how many there were. */
export type Removal = (tx: TenantTransaction, rowsMax: number) => Promise<number>;

/** `table`: its name as a fragment, so that the owner's file still shows it as SQL. */
export function removalFrom(table: FragmentSqlToken): Removal {
  return async (tx, rowsMax) => {
    const { tenantId } = tx.scope;
    const { rowCount } = await tx.query(sql.typeAlias('nothing')`
      delete from ${table} where tenant_id = ${tenantId} and ctid = any(array(
        select ctid from ${table} where tenant_id = ${tenantId} limit ${rowsMax}))`);
    return rowCount;
  };
}
