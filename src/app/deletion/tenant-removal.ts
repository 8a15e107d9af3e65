import type { Time, Timer } from '../../../cluster/index.js';
import { inboxRemovals, mailRemovals, outboxRemovals } from '../../automation/index.js';
import { attachmentRemovals } from '../../conversations/attachments/index.js';
import { consumerRemovals } from '../../conversations/consumers/index.js';
import { realtimeRemovals } from '../../conversations/realtime/index.js';
import { sessionRemovals } from '../../conversations/sessions/index.js';
import { forgetErrorsOf } from '../../infra/diagnostics/index.js';
import type { Removal, Store } from '../../infra/storage/index.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { forgetResponses } from '../../models/responses/index.js';
import { usageRemovals } from '../../models/usage/index.js';
import { forgetAuditOfDeleted } from '../../tenancy/audit/index.js';
import { claimRemoval, removeEndedTenant } from '../../tenancy/identity/index.js';
import { costRemovals } from '../../tenancy/quota/index.js';
import { destroyVault } from '../../tenancy/vault/index.js';
import { removeFences } from './fences.store.js';

const everyMs = 15_000;
/** Later than every row. */
const ever = new Date('9999-01-01');
/** Small, so that no request waits long for a lock or for disk space. */
const rowsMax = 500;
const pauseMs = 20;

/** The large tables, and those without a foreign key to the tenant. The rows of all others go with the tenant's row. */
const batches: readonly Removal[] = [
  removeFences,
  ...usageRemovals,
  ...costRemovals,
  (tx, max) => forgetResponses(tx, ever, max),
  ...outboxRemovals,
  ...inboxRemovals,
  ...mailRemovals,
  // Each session that goes looks for its events.
  ...realtimeRemovals,
  ...sessionRemovals,
  ...attachmentRemovals,
  ...consumerRemovals,
  forgetAuditOfDeleted,
];

export interface TenantRemovalParts {
  readonly store: Store;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/**
 * Removes the rows of deleted tenants. After the end of the node that claimed a tenant another node goes on: what is gone
 * is gone, and the tenant's own row, which carries the claim, goes last.
 */
export class TenantRemoval {
  readonly #parts: TenantRemovalParts;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: TenantRemovalParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.time.after(everyMs, () => {
      void this.run()
        .catch((error: unknown) => this.#parts.report('removing the rows of a deleted tenant', error))
        .finally(() => this.start());
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Removes every tenant that is due. */
  async run(): Promise<void> {
    const { store, time, report } = this.#parts;
    while (!this.#stopped) {
      const claimed = await store.directory((tx) => claimRemoval(tx, new Date(time.wallMs())));
      if (claimed === null) return;
      await this.#remove(tenantScope(claimed.id)).catch((error: unknown) =>
        report('removing the rows of a deleted tenant', error),
      );
    }
  }

  async #remove(scope: TenantScope): Promise<void> {
    const { store } = this.#parts;
    // A request that was under way may have made another data key.
    await store.inTenant(scope, destroyVault);
    // What a writer of another node adds meanwhile is found by another round.
    while ((await this.#round(scope)) > 0) await this.#pause();
    if (this.#stopped) return;
    await forgetErrorsOf(store, scope.tenantId);
    await store.directory((tx) => removeEndedTenant(tx, scope.tenantId));
  }

  async #round(scope: TenantScope): Promise<number> {
    let total = 0;
    for (const batch of batches) {
      let gone = rowsMax;
      while (gone >= rowsMax && !this.#stopped) {
        gone = await this.#parts.store.inTenant(scope, (tx) => batch(tx, rowsMax));
        total += gone;
        if (gone > 0) await this.#pause();
      }
    }
    return this.#stopped ? 0 : total;
  }

  /** Leaves the database to others between two batches. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.time.after(pauseMs, resolve);
    });
  }
}
