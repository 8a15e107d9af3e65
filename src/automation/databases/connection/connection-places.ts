import type { TenantScope } from '../../../kernel/tenant-scope.js';
import { PlatformError } from '../../../kernel/errors.js';

/** Bounds the open connections: a slow server can hold each one until its timeout. */
export class ConnectionSlots {
  readonly #limits: { readonly ofTenant: number; readonly ofNode: number };
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: { readonly ofTenant: number; readonly ofNode: number }) {
    this.#limits = limits;
  }

  /** Returns a function that releases the place; throws if there is none. */
  take({ tenantId }: TenantScope): () => void {
    const own = this.#taken.get(tenantId) ?? 0;
    if (own >= this.#limits.ofTenant || this.#total >= this.#limits.ofNode) {
      throw new PlatformError('service_unavailable', {
        message: 'Too many databases are being read at the moment. Retry in a few seconds.',
        retryAfterSeconds: 1,
      });
    }
    this.#taken.set(tenantId, own + 1);
    this.#total += 1;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#total -= 1;
      const left = (this.#taken.get(tenantId) ?? 1) - 1;
      if (left === 0) this.#taken.delete(tenantId);
      else this.#taken.set(tenantId, left);
    };
  }
}
