import { z } from 'zod';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Each deletes at most `rowsMax` rows older than `before` and returns how many there were. */

export async function forgetMessages(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from messages where (tenant_id, session_id, number) in (
      select tenant_id, session_id, number from messages
      where tenant_id = ${tenantId} and created_at < ${sql.timestamp(before)} limit ${rowsMax})`);
  return rowCount;
}

/** Their steps go with them. An execution without an outcome stays: its session's actor works on it. */
export async function forgetExecutions(
  tx: TenantTransaction,
  before: Date,
  rowsMax: number,
): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from executions where (tenant_id, id) in (
      select tenant_id, id from executions
      where tenant_id = ${tenantId} and created_at < ${sql.timestamp(before)} and outcome is not null
      order by created_at limit ${rowsMax})`);
  return rowCount;
}

const oldSession = z.object({ id: z.string(), last_interaction: z.date() });
export type OldSession = z.output<typeof oldSession>;

/** Sessions whose last message is older, from the oldest on. Their actors erase them, under their fences. */
export function sessionsBefore(
  tx: TenantTransaction,
  before: Date,
  after: OldSession | undefined,
  rowsMax: number,
): Promise<readonly OldSession[]> {
  const { tenantId } = tx.scope;
  const rest =
    after === undefined
      ? sql.fragment``
      : sql.fragment`and (last_interaction, id) > (${after.last_interaction.toISOString()}::timestamptz, ${after.id}::uuid)`;
  return tx.any(sql.type(oldSession)`
    select id, last_interaction from sessions
    where tenant_id = ${tenantId} and last_interaction < ${sql.timestamp(before)} ${rest}
    order by last_interaction, id limit ${rowsMax}`);
}

/** Event logs whose readers may no longer come back. The policy hides the others. */
export async function forgetLogs(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from execution_logs where (tenant_id, execution_id) in (
      select tenant_id, execution_id from execution_logs where expires_at < now()
      order by expires_at limit ${rowsMax})`);
  return rowCount;
}

export async function forgetErased(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from ended_by_erasure where (tenant_id, id) in (
      select tenant_id, id from ended_by_erasure where erased_at < now() - interval '1 day'
      order by erased_at limit ${rowsMax})`);
  return rowCount;
}
