import { z } from 'zod';
import { type Removal, removalFrom, sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { AttachmentRef } from './attachment.js';

export interface NewAttachment extends AttachmentRef {
  readonly sealed: Buffer;
}

export async function insertAttachment(
  tx: TenantTransaction,
  sessionId: string,
  { id, type, media_type, name, bytes, sealed }: NewAttachment,
  at: Date,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into attachments (tenant_id, id, session_id, type, media_type, name, bytes, sealed, created_at)
    values (${tx.scope.tenantId}, ${id}, ${sessionId}, ${type}, ${media_type}, ${name}, ${bytes}, ${sql.binary(sealed)},
      ${sql.timestamp(at)})`);
}

const foundRow = z.object({
  id: z.uuid(),
  media_type: z.string(),
  name: z.string().nullable(),
  sealed: z.instanceof(Buffer),
});
export type FoundAttachment = z.output<typeof foundRow>;

export function findAttachments(
  tx: TenantTransaction,
  ids: readonly string[],
): Promise<readonly FoundAttachment[]> {
  return tx.any(sql.type(foundRow)`
    select id, media_type, name, sealed from attachments
    where tenant_id = ${tx.scope.tenantId} and id = any(${sql.array([...ids], 'uuid')})`);
}

/** Only of a message that is part of its conversation. */
export function findShown(tx: TenantTransaction, id: string): Promise<FoundAttachment | null> {
  return tx.maybeOne(sql.type(foundRow)`
    select id, media_type, name, sealed from attachments
    where tenant_id = ${tx.scope.tenantId} and id = ${id} and message_id is not null`);
}

/** Removes what no message was bound to. */
export async function removeUnbound(tx: TenantTransaction, ids: readonly string[]): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from attachments
    where tenant_id = ${tx.scope.tenantId} and id = any(${sql.array([...ids], 'uuid')}) and message_id is null`);
}

/** Binds attachments of many tenants to their messages, as a JSON list in `$1`, in the transactions of their sessions. */
export const bindStatement = {
  name: 'attachments_bind',
  text: `update attachments a set message_id = w.message_id
    from jsonb_to_recordset($1::jsonb) as w (tenant_id uuid, id uuid, message_id uuid)
    where a.tenant_id = w.tenant_id and a.id = w.id`,
} as const;

/** Deletes at most `rowsMax` attachments older than `before` and returns how many there were. */
export async function forgetAttachments(
  tx: TenantTransaction,
  before: Date,
  rowsMax: number,
): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from attachments where (tenant_id, id) in (
      select tenant_id, id from attachments
      where tenant_id = ${tx.scope.tenantId} and created_at < ${sql.timestamp(before)}
      order by created_at limit ${rowsMax})`);
  return rowCount;
}

/**
 * The same for those that no message was bound to. Those of a session with an unfinished turn stay: a turn binds its
 * attachments when it begins, and may wait for days behind one that waits for a person.
 */
export async function forgetUnbound(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from attachments where (tenant_id, id) in (
      select a.tenant_id, a.id from attachments a
      where a.tenant_id = ${tx.scope.tenantId} and a.created_at < ${sql.timestamp(before)} and a.message_id is null
        and not exists (select from unfinished_executions e
          where e.tenant_id = a.tenant_id and e.session_id = a.session_id)
      order by a.created_at limit ${rowsMax})`);
  return rowCount;
}

/** Deletes at most `rowsMax` attachments of a session and returns how many there were. */
export async function forgetOfSession(
  tx: TenantTransaction,
  sessionId: string,
  rowsMax: number,
): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from attachments where tenant_id = ${tenantId} and id in (
      select id from attachments where tenant_id = ${tenantId} and session_id = ${sessionId} limit ${rowsMax})`);
  return rowCount;
}

/** For a tenant that is being deleted. */
export const attachmentRemovals: readonly Removal[] = [removalFrom(sql.fragment`attachments`)];
