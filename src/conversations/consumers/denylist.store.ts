import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { HotReads, HotStatement } from '../../infra/storage/index.js';

/** The denylist of a tenant with more keys is not cached: each key is queried. Smaller lists are cached whole. */
export const keptKeysMax = 20_000;

const deniedKeys: HotStatement<{ consumer_key: string }> = {
  name: 'consumers_denied',
  text: `select consumer_key from consumers where tenant_id = $1 and blocked limit ${keptKeysMax + 1}`,
  row: z.object({ consumer_key: z.string() }),
};

/** Null if there are too many keys to cache. */
export async function readDeniedKeys(
  reads: HotReads,
  scope: TenantScope,
): Promise<ReadonlySet<string> | null> {
  const rows = await reads.inTenant(scope, deniedKeys, [scope.tenantId]);
  return rows.length > keptKeysMax ? null : new Set(rows.map((row) => row.consumer_key));
}

const denied: HotStatement<{ denied: boolean }> = {
  name: 'consumer_denied',
  text: `select exists (
      select from consumers where tenant_id = $1 and consumer_key = any($2::text[]) and blocked
    ) as denied`,
  row: z.object({ denied: z.boolean() }),
};

export async function readDenied(
  reads: HotReads,
  scope: TenantScope,
  keys: readonly string[],
): Promise<boolean> {
  const [row] = await reads.inTenant(scope, denied, [scope.tenantId, [...keys]]);
  return row?.denied ?? false;
}
