// Callers as the authenticator makes them, for tests of the later stages.
import { randomUUID } from 'node:crypto';
import type { KeyCaller, Plan, Role, TenantLimits, TenantUserCaller } from '../../../src/kernel/caller.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { sql, type Store } from '../../../src/infra/storage/index.js';

/** A new tenant in the database. */
export async function insertTenant(
  store: Store,
  { plan = 'enterprise', name = 'a tenant' }: { plan?: Plan; name?: string } = {},
): Promise<TenantScope> {
  const id = randomUUID();
  await store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`insert into tenants (id, name, plan) values (${id}, ${name}, ${plan})`),
  );
  return tenantScope(id);
}

export function userOf(
  scope: TenantScope,
  { role = 'admin', limits = limitsOf('enterprise', {}) }: { role?: Role; limits?: TenantLimits } = {},
): TenantUserCaller {
  return {
    kind: 'tenant-user',
    userId: randomUUID(),
    familyId: undefined,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    address: '127.0.0.1',
    scope,
    role,
    limits,
  };
}

export function keyOf(
  scope: TenantScope,
  options: Partial<Omit<KeyCaller, 'kind' | 'scope'>> = {},
): KeyCaller {
  return {
    kind: 'key',
    keyId: randomUUID(),
    address: '127.0.0.1',
    scope,
    role: 'admin',
    limits: limitsOf('enterprise', {}),
    requestsPerMinute: 1_000,
    quotaLimit: null,
    ...options,
  };
}
