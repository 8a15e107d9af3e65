declare const brand: unique symbol;

/**
 * The right to read and write one tenant's data, as a value. Every function of a `*.store.ts` takes it first, so a
 * query that forgot its tenant does not compile. Only `identity/`, `keys/` and the composition root make one, from a
 * credential that was verified.
 */
export interface TenantScope {
  readonly tenantId: string;
  readonly [brand]: 'tenant-scope';
}

export function tenantScope(tenantId: string): TenantScope {
  return { tenantId } as TenantScope;
}
