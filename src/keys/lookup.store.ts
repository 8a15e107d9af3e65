import { z } from 'zod';
import { roles } from '../context/caller.js';
import { plans, tenantSettings } from '../plans/index.js';
import { type HotReads, type HotStatement, sql, type Store } from '../storage/index.js';

const foundKey = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  role: z.enum(roles),
  rate_limit_per_minute: z.number(),
  quota_limit: z.number().nullable(),
  expires_at: z.date().nullable(),
  plan: z.enum(plans),
  settings: tenantSettings,
});
export type FoundKey = z.output<typeof foundKey>;

const byHash: HotStatement<FoundKey> = {
  name: 'key_by_hash',
  text: `select k.tenant_id, k.id, k.role, k.rate_limit_per_minute, k.quota_limit, k.expires_at, t.plan, t.settings
    from api_keys k join tenants t on t.id = k.tenant_id
    where k.hash = $1 and k.revoked_at is null`,
  row: foundKey,
};

/** The key of this hash, unless it was revoked. The only look-up in which a key names its tenant. */
export async function findByHash(reads: HotReads, hash: string): Promise<FoundKey | undefined> {
  const [found] = await reads.directory(byHash, [Buffer.from(hash, 'hex')]);
  return found;
}

const revoked = z.object({ tenant_id: z.uuid(), id: z.uuid() });

/** Which of the keys of these hashes are revoked. */
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
