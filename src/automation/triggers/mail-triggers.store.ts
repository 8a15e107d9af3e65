import { z } from 'zod';
import type { HotReads, HotStatement } from '../../infra/storage/index.js';

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
