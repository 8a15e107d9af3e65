import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** Each removes a batch of what nobody can ask for any more, and answers how many there were. */
type Forget = (tx: DirectoryTransaction, rowsMax: number) => Promise<number>;

/** For so long a failed answer can be sent again, and one that arrived is shown; its attempts go with it. */
const forgetDeliveries: Forget = async (tx, rowsMax) => {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from deliveries where (tenant_id, id) in (
      select tenant_id, id from deliveries where finished_at < now() - interval '30 days'
      order by finished_at limit ${rowsMax} for update skip locked)`);
  return rowCount;
};

/** A mail that comes again so late begins a thread. */
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
