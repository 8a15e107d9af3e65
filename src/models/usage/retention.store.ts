import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Each changes at most `rowsMax` rows older than `before` and returns how many there were. */

export async function blankPreviews(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update calls set input_preview = '', output_preview = '' where (tenant_id, started_at, call_id) in (
      select tenant_id, started_at, call_id from calls
      where tenant_id = ${tenantId} and started_at < ${sql.timestamp(before)}
        and (input_preview <> '' or output_preview <> '')
      order by started_at limit ${rowsMax} for update skip locked)`);
  return rowCount;
}

export async function forgetCalls(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from calls where (tenant_id, started_at, call_id) in (
      select tenant_id, started_at, call_id from calls
      where tenant_id = ${tenantId} and started_at < ${sql.timestamp(before)}
      order by started_at limit ${rowsMax})`);
  return rowCount;
}

/** Open rows stay: the quota counts them until they are closed. */
export async function forgetUsage(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from usage_rows where (tenant_id, attempt_id) in (
      select tenant_id, attempt_id from usage_rows
      where tenant_id = ${tenantId} and opened_at < ${sql.timestamp(before)} and outcome is not null
      order by opened_at limit ${rowsMax})`);
  return rowCount;
}
