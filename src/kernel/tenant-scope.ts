import type { AuditContext } from './audit-context.js';
import { isUuid } from './uuid.js';

/** A request with an `Idempotency-Key`, as the transaction that makes its thing must know it. */
export interface KeyedRequest {
  /** The same for every repeat; ids that the request makes come from it. */
  readonly seed: string;
  /** The attempt that may make something. */
  readonly holder: string;
}

class Scope {
  // A private field: no object literal can stand in for a scope.
  readonly #tenantId: string;
  /** Set while a request that changes something runs. */
  readonly audit: AuditContext | undefined;

  /** Set while a request with an `Idempotency-Key` runs. */
  readonly request: KeyedRequest | undefined;

  constructor(tenantId: string, audit?: AuditContext, request?: KeyedRequest) {
    this.#tenantId = tenantId;
    this.audit = audit;
    this.request = request;
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
  return new Scope(scope.tenantId, audit, scope.request);
}

/** The same right, for one request with an `Idempotency-Key`. */
export function keyedScope(scope: TenantScope, request: KeyedRequest): TenantScope {
  return new Scope(scope.tenantId, scope.audit, request);
}
