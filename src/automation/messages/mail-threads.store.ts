import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type HotReads, type HotStatement, sql, type TenantTransaction } from '../../infra/storage/index.js';

const threadRow = z.object({ message_id: z.string(), thread: z.string() });

const byMessageIds: HotStatement<z.output<typeof threadRow>> = {
  name: 'trigger_mail_threads',
  text: `select message_id, thread from trigger_mails
    where tenant_id = $1 and trigger_id = $2 and message_id = any($3::text[])`,
  row: threadRow,
};

/** The threads of the given mails, as far as the trigger received or sent them. */
export async function threadsOf(
  reads: HotReads,
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

const claimRow = z.object({ id: z.uuid(), tenant_id: z.uuid(), enabled: z.boolean() });

const byAddress: HotStatement<z.output<typeof claimRow>> = {
  name: 'trigger_by_mail_address',
  text: `select id, tenant_id, enabled from triggers
    where trigger_type = 'email' and lower(config ->> 'address') = $1 and not config ? 'imap'
      and ($2::uuid is null or tenant_id = $2)
    order by created_at, id limit 100`,
  row: claimRow,
};

/**
 * The trigger that receives mail for this address, of the tenant that may claim it. Without proved domains (`claimant`
 * undefined) that is the first tenant that claimed it, even while its trigger is disabled: nobody can take over mail by
 * configuring another's address.
 */
export async function triggerForAddress(
  reads: HotReads,
  address: string,
  claimant: { readonly tenantId: string | undefined } | undefined,
): Promise<string | undefined> {
  if (claimant !== undefined && claimant.tenantId === undefined) return undefined;
  const claims = await reads.directory(byAddress, [address, claimant?.tenantId ?? null]);
  const own = claims.filter(({ tenant_id }) => tenant_id === claims[0]?.tenant_id);
  return own.find(({ enabled }) => enabled)?.id;
}
