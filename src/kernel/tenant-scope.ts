import type { AuditContext } from './audit-context.js';
import { isUuid } from './uuid.js';

class Scope {
  // A private field: no object literal can stand in for a scope.
  readonly #tenantId: string;
  /** Set while a request that changes something runs. */
  readonly audit: AuditContext | undefined;

  constructor(tenantId: string, audit?: AuditContext) {
    this.#tenantId = tenantId;
    this.audit = audit;
  }

  get tenantId(): string {
    return this.#tenantId;
  }
}

/**
 * The right to read and write the data of one tenant, as a value. Every function of a `*.store.ts` takes it as the first
 * parameter, so a query without a tenant does not compile.
 */
export type TenantScope = Scope;

/**
 * Only `identity/`, `keys/` and the composition root create scopes, from a verified credential; all other code receives
 * them.
 */
export function tenantScope(tenantId: string): TenantScope {
  if (!isUuid(tenantId)) throw new TypeError('The tenant id must be a UUID');
  return new Scope(tenantId.toLowerCase());
}

/** The same right, for one request that leaves an audit entry. */
export function auditedScope(scope: TenantScope, audit: AuditContext): TenantScope {
  return new Scope(scope.tenantId, audit);
}
