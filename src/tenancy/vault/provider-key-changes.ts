import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type ChangeFeed,
  recordChange,
  type Store,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import { providerKeyTopic } from './provider-keys.store.js';

/** Tells of a secret that was changed, where it is a key for a vendor. The last thing that its transaction does. */
export type Told = (secret: { readonly id: string; readonly provider: string | null }) => Promise<void>;

/** A node that cannot hear of changes for as long asks the store itself. */
const heardMsMax = 2_000;

/** Nodes remember which keys for vendors a tenant has. They are told of changes, this one before anybody is answered. */
export class ProviderKeyChanges {
  readonly #store: Store;
  readonly #feed: Pick<ChangeFeed, 'reached'> | undefined;

  constructor(store: Store, feed: Pick<ChangeFeed, 'reached'> | undefined) {
    this.#store = store;
    this.#feed = feed;
  }

  async around<Result>(
    scope: TenantScope,
    work: (tx: TenantTransaction, told: Told) => Promise<Result>,
  ): Promise<Result> {
    let change: number | undefined;
    const result = await this.#store.inTenant(scope, (tx) => {
      change = undefined;
      return work(tx, async ({ id: subject, provider }) => {
        if (provider === null) return;
        change = await recordChange(tx, { topic: providerKeyTopic, tenantId: scope.tenantId, subject });
      });
    });
    if (change !== undefined) await this.#feed?.reached(change, heardMsMax);
    return result;
  }
}
