import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import { budgetShape } from '../../kernel/budget.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type HotReads, type HotStatement, sql, type Store } from '../../infra/storage/index.js';
import type { KeyRules } from './key-rules.js';

const foundKey = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  role: z.enum(roles),
  rate_limit_per_minute: z.number(),
  quota_limit: z.number().nullable(),
  expires_at: z.date().nullable(),
  allowed_models: z.array(z.string()).nullable(),
  allowed_ips: z.array(z.string()).nullable(),
  budget: budgetShape.nullable(),
  origins: z.array(z.string()).nullable(),
  agent_ids: z.array(z.string()).nullable(),
  plan: z.enum(plans),
  settings: tenantSettings,
  suspended: z.boolean(),
  deleting: z.boolean(),
});
export type FoundKey = z.output<typeof foundKey>;

const hashedKey = foundKey.extend({ hash: z.instanceof(Buffer) });

const byHash: HotStatement<z.output<typeof hashedKey>> = {
  name: 'keys_by_hash',
  text: `select k.hash, k.tenant_id, k.id, k.role, k.rate_limit_per_minute, k.quota_limit, k.expires_at,
      k.allowed_models, k.allowed_ips, k.budget, k.origins, k.agent_ids, t.plan, t.settings, t.suspended, t.deleting
    from api_keys k join tenant_plans t on t.tenant_id = k.tenant_id
    where k.hash in (select decode(given.hash, 'hex') from unnest($1::text[]) as given (hash))
      and k.revoked_at is null`,
  row: hashedKey,
};

/** The unrevoked keys with these hashes. The only query in which a key determines its tenant. */
export async function findByHashes(
  reads: HotReads,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, FoundKey>> {
  const found = await reads.directory(byHash, [hashes]);
  return new Map(found.map(({ hash, ...key }) => [hash.toString('hex'), key]));
}

export async function findByHash(reads: HotReads, hash: string): Promise<FoundKey | undefined> {
  return (await findByHashes(reads, [hash])).get(hash);
}

/** What a key of the tenant may ask for and spend, also after it was revoked. */
export async function findRules(store: Store, scope: TenantScope, keyId: string): Promise<KeyRules | null> {
  const row = await store.inTenant(scope, (tx) =>
    tx.maybeOne(
      sql.type(foundKey.pick({ allowed_models: true, budget: true }))`
        select allowed_models, budget from api_keys where tenant_id = ${scope.tenantId} and id = ${keyId}`,
    ),
  );
  return row === null ? null : { allowedModels: row.allowed_models, budget: row.budget };
}

/** Where a key of the tenant may be used from: null for everywhere, undefined if there is no such key. */
export async function findAllowedIps(
  store: Store,
  scope: TenantScope,
  keyId: string,
): Promise<readonly string[] | null | undefined> {
  const row = await store.inTenant(scope, (tx) =>
    tx.maybeOne(
      sql.type(foundKey.pick({ allowed_ips: true }))`
        select allowed_ips from api_keys where tenant_id = ${scope.tenantId} and id = ${keyId}`,
    ),
  );
  return row?.allowed_ips;
}

/** The hash of a key, which never changes. */
export function findHash(
  store: Store,
  { tenantId, keyId }: { readonly tenantId: string; readonly keyId: string },
): Promise<string | null> {
  return store.directory((tx) =>
    tx.maybeOneFirst(
      sql.type(z.object({ hash: z.string() }))`
        select encode(hash, 'hex') as hash from api_keys where tenant_id = ${tenantId} and id = ${keyId}`,
    ),
  );
}

const revoked = z.object({ tenant_id: z.uuid(), id: z.uuid() });

/** Returns which of the keys with these hashes are revoked. */
export function findRevoked(
  store: Store,
  hashes: readonly string[],
): Promise<readonly z.output<typeof revoked>[]> {
  return store.directory((tx) =>
    tx.any(sql.type(revoked)`
      select tenant_id, id from api_keys
      where hash in (select decode(given.hash, 'hex') from unnest(${sql.array([...hashes], 'text')}) as given (hash))
        and revoked_at is not null`),
  );
}
