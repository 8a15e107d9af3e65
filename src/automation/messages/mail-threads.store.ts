import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type DirectoryTransaction,
  type HotReads,
  type HotStatement,
  sql,
  type TenantTransaction,
} from '../../infra/storage/index.js';

const threadRow = z.object({ message_id: z.string(), thread: z.string() });

const byMessageIds: HotStatement<z.output<typeof threadRow>> = {
  name: 'trigger_mail_threads',
  text: `select message_id, thread from trigger_mails
    where tenant_id = $1 and trigger_id = $2 and message_id = any($3::text[])`,
  row: threadRow,
};

/** The threads of the given mails, as far as the trigger received or sent them. */
export async function threadsOf(
  reads: Pick<HotReads, 'inTenant'>,
  scope: TenantScope,
  triggerId: string,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await reads.inTenant(scope, byMessageIds, [scope.tenantId, triggerId, messageIds]);
  return new Map(rows.map(({ message_id, thread }) => [message_id, thread]));
}

/** Returns false if the mail was already recorded. */
export async function noteMail(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  mail: { readonly triggerId: string; readonly messageId: string; readonly thread: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    insert into trigger_mails (tenant_id, trigger_id, message_id, thread)
    values (${tenantId}, ${mail.triggerId}, ${mail.messageId}, ${mail.thread}) on conflict do nothing`);
  return rowCount === 1;
}

/** A mail that refers to a deleted one starts a new thread. */
export async function deleteOldMails(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from trigger_mails where (tenant_id, trigger_id, message_id) in (
      select tenant_id, trigger_id, message_id from trigger_mails where created_at < now() - interval '365 days'
      order by created_at limit ${rowsMax})`);
  return rowCount;
}

/**
 * A part of a statement that records mails of many tenants: `rows` names a relation with `tenant_id`, `trigger_id`,
 * `message_id`, `thread` and `position`. Returns the keys of the mails that were not recorded before.
 */
export function mailsNotedFrom(rows: string): string {
  return `insert into trigger_mails (tenant_id, trigger_id, message_id, thread)
      select tenant_id, trigger_id, message_id, thread from ${rows}
      order by tenant_id, trigger_id, message_id, position
      on conflict (tenant_id, trigger_id, message_id) do nothing
      returning tenant_id, trigger_id, message_id`;
}
