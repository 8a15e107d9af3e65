import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { HotReads, HotStatement } from '../../infra/storage/index.js';

/** The topic of changes to tenants' own vendor keys; the subject is the secret's id. */
export const providerKeyTopic = 'provider-key';

const providerKey = z.object({
  id: z.uuid(),
  version: z.number(),
  provider: z.string(),
  allowed_hosts: z.array(z.string()).nullable(),
});
export type ProviderKey = z.output<typeof providerKey>;

const byTenant: HotStatement<ProviderKey> = {
  name: 'provider_keys',
  text: `select id, version, provider, allowed_hosts from secrets
    where tenant_id = $1 and provider is not null order by value_changed_at desc, id`,
  row: providerKey,
};

/** The tenant's own vendor keys, without values, for callers that ask with every call; the latest comes first. */
export function readProviderKeys(reads: HotReads, scope: TenantScope): Promise<readonly ProviderKey[]> {
  return reads.inTenant(scope, byTenant, [scope.tenantId]);
}
