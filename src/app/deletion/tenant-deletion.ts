import type { ChangeFeed, Store } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { announceEnd, endTenant, settled } from '../../tenancy/identity/index.js';
import { cancelAllInvites } from '../../tenancy/invites/index.js';
import { announceDestroyedVault, destroyVault } from '../../tenancy/vault/index.js';

export interface TenantDeletionParts {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly nowMs: () => number;
}

/** Ends a tenant in one transaction; nodes remove its rows afterwards. */
export class TenantDeletion {
  readonly #parts: TenantDeletionParts;

  constructor(parts: TenantDeletionParts) {
    this.#parts = parts;
  }

  /**
   * In force on this node when it returns. Throws `tenant_not_found`, or `validation_error` if `confirm` is not the
   * tenant's name. A repetition does nothing.
   */
  async delete(scope: TenantScope, confirm: string, actor: string): Promise<void> {
    const { store, changes, nowMs } = this.#parts;
    const at = new Date(nowMs());
    const change = await store.inTenant(scope, async (tx) => {
      await endTenant(tx, { confirm, actor, at });
      await destroyVault(tx);
      await cancelAllInvites(tx, scope.tenantId, at);
      await announceDestroyedVault(tx);
      return announceEnd(tx);
    });
    await settled(changes, change);
  }
}
