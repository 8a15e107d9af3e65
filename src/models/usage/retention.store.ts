import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Each changes at most `rowsMax` rows older than `before` and returns how many there were. */

/**
 * What was blanked before is not read again, but for a week, in which calls may have been recorded late. Only one process
 * at a time may do this for a tenant.
 */
export async function blankPreviews(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update calls set input_preview = '', output_preview = '' where (tenant_id, started_at, call_id) in (
      select tenant_id, started_at, call_id from calls
      where tenant_id = ${tenantId} and started_at < ${sql.timestamp(before)}
        and started_at >= (
          select coalesce(max(blanked_to), '-infinity') - interval '168 hours' from blanked_previews
          where tenant_id = ${tenantId})
        and (input_preview <> '' or output_preview <> '')
      order by started_at limit ${rowsMax} for update)`);
  if (rowCount < rowsMax) {
    await tx.query(sql.typeAlias('nothing')`
      insert into blanked_previews as b values (${tenantId}, ${sql.timestamp(before)})
      on conflict (tenant_id) do update set blanked_to = greatest(b.blanked_to, excluded.blanked_to)`);
  }
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
