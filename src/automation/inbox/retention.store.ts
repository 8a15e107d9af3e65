import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** Deletes a batch of rows that are no longer needed, and returns how many there were. */
type Forget = (tx: DirectoryTransaction, rowsMax: number) => Promise<number>;

/** Until then a failed answer can be sent again and a delivered one is shown. Its attempts are deleted with it. */
const forgetDeliveries: Forget = async (tx, rowsMax) => {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from deliveries where (tenant_id, id) in (
      select tenant_id, id from deliveries where finished_at < now() - interval '30 days'
      order by finished_at limit ${rowsMax} for update skip locked)`);
  return rowCount;
};

/** A mail that refers to a deleted one starts a new thread. */
const forgetMails: Forget = async (tx, rowsMax) => {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from trigger_mails where (tenant_id, trigger_id, message_id) in (
      select tenant_id, trigger_id, message_id from trigger_mails where created_at < now() - interval '365 days'
      order by created_at limit ${rowsMax})`);
  return rowCount;
};

const forgetReplies: Forget = async (tx, rowsMax) => {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from trigger_replies where (tenant_id, session_id) in (
      select tenant_id, session_id from trigger_replies where updated_at < now() - interval '365 days'
      order by updated_at limit ${rowsMax} for update skip locked)`);
  return rowCount;
};

export const forgetting: readonly Forget[] = [forgetDeliveries, forgetMails, forgetReplies];
