import type { TenantScope } from '../../../kernel/tenant-scope.js';
import { PlatformError } from '../../../kernel/errors.js';

/** How many connections may be open at once: a slow server holds each for as long as it may. */
export class ConnectionSlots {
  readonly #limits: { readonly ofTenant: number; readonly ofNode: number };
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: { readonly ofTenant: number; readonly ofNode: number }) {
    this.#limits = limits;
  }

  /** Answers how to give the place back; throws when there is none. */
  take({ tenantId }: TenantScope): () => void {
    const own = this.#taken.get(tenantId) ?? 0;
    if (own >= this.#limits.ofTenant || this.#total >= this.#limits.ofNode) {
      throw new PlatformError('service_unavailable', {
        message: 'Too many databases are being read at this moment.',
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
