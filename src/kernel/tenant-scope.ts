const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

class Scope {
  // Private, so that no object literal passes for a scope, and no cast is needed to make one.
  readonly #tenantId: string;

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  get tenantId(): string {
    return this.#tenantId;
  }
}

/**
 * The right to read and write one tenant's data, as a value. Every function of a `*.store.ts` takes it first, so a
 * query that forgot its tenant does not compile.
 */
export type TenantScope = Scope;

/**
 * Only `identity/`, `keys/` and the composition root make one, from a credential that was verified; everybody else is
 * handed it.
 */
export function tenantScope(tenantId: string): TenantScope {
  if (!uuid.test(tenantId)) throw new TypeError('A tenant id is a UUID');
  return new Scope(tenantId.toLowerCase());
}
