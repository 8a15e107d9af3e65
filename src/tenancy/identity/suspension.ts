import { recordAudit } from '../audit/index.js';
import type { FieldChanges } from '../../kernel/audit-context.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { announceSuspension, announceTenant, settled } from './changes.js';
import { markResumed, markSuspended } from './installation.store.js';

/** The operator keeps a tenant from working and lets it work again. Every node knows within a second. */
export interface Suspension {
  /** In force on this node when it returns. Throws `tenant_not_found`. */
  suspend(tenantId: string, reason: string, actor: string): Promise<void>;
  resume(tenantId: string, actor: string): Promise<void>;
}

export function createSuspension({
  store,
  changes,
  nowMs,
}: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly nowMs: () => number;
}): Suspension {
  async function apply(
    tenantId: string,
    entry: {
      readonly actor: string;
      readonly action: string;
      readonly details?: { readonly reason: string };
      readonly changes: FieldChanges;
    },
    mark: (tx: DirectoryTransaction) => Promise<boolean>,
    announce: (tx: DirectoryTransaction) => Promise<number>,
  ): Promise<void> {
    const change = await store.directory(async (tx) => {
      if (!(await mark(tx))) throw new PlatformError('tenant_not_found');
      await recordAudit(tx, { tenantId, ...entry, subject: `tenant:${tenantId}` });
      return announce(tx);
    });
    await settled(changes, change);
  }

  return {
    suspend: (tenantId, reason, actor) =>
      apply(
        tenantId,
        // The reason is the operator's; the tenant reads its own entries.
        {
          actor,
          action: 'tenant.suspended',
          details: { reason },
          changes: { status: { old: 'active', new: 'suspended' } },
        },
        (tx) => markSuspended(tx, tenantId, reason, new Date(nowMs())),
        async (tx) => {
          // Caches are dropped before streams and turns end, so that a client that returns at once is refused.
          await announceTenant(tx, tenantId);
          return announceSuspension(tx, tenantId);
        },
      ),
    resume: (tenantId, actor) =>
      apply(
        tenantId,
        { actor, action: 'tenant.resumed', changes: { status: { old: 'suspended', new: 'active' } } },
        (tx) => markResumed(tx, tenantId),
        (tx) => announceTenant(tx, tenantId),
      ),
  };
}
