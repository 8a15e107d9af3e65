import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** Until then a failed answer can be sent again and a delivered one is shown. Its attempts are deleted with it. */
export async function deleteOldDeliveries(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from deliveries where (tenant_id, id) in (
      select tenant_id, id from deliveries where finished_at < now() - interval '30 days'
      order by finished_at limit ${rowsMax} for update skip locked)`);
  return rowCount;
}

export async function deleteOldReplies(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from trigger_replies where (tenant_id, session_id) in (
      select tenant_id, session_id from trigger_replies where updated_at < now() - interval '365 days'
      order by updated_at limit ${rowsMax} for update skip locked)`);
  return rowCount;
}
