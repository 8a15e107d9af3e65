import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type ChangeFeed,
  recordChange,
  type Store,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import { providerKeyTopic } from './provider-keys.store.js';

/** Announces a changed secret if it is a vendor key. Must be the last statement of its transaction. */
export type AnnounceKeyChange = (secret: {
  readonly id: string;
  readonly provider: string | null;
}) => Promise<void>;

/** A node that receives no changes for this time asks the store instead. */
const heardMsMax = 2_000;

/** Nodes cache which vendor keys a tenant has. A change reaches this node before the request that made it is answered. */
export class ProviderKeyChanges {
  readonly #store: Store;
  readonly #feed: Pick<ChangeFeed, 'reached'> | undefined;

  constructor(store: Store, feed: Pick<ChangeFeed, 'reached'> | undefined) {
    this.#store = store;
    this.#feed = feed;
  }

  async around<Result>(
    scope: TenantScope,
    work: (tx: TenantTransaction, announce: AnnounceKeyChange) => Promise<Result>,
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
