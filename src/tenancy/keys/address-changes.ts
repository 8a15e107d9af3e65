import { sleep, type Time } from '../../../cluster/index.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import type { ChangeFeed } from '../../infra/storage/index.js';
import { changeTopics } from './changes.js';
import { holdsAddress, rangesFrom } from './key-rules.js';

/** A key whose addresses were restricted, for owners of connections that were opened with it. */
export interface ChangedAddresses {
  readonly keyId: string;
  readonly allows: (address: string) => boolean;
}

export type AddressListener = (changed: ChangedAddresses) => void;

const retryMs = 250;

export interface AddressChangesOptions {
  readonly feed: ChangeFeed;
  /** Null allows every address; undefined if the tenant has no such key. */
  readonly find: (scope: TenantScope, keyId: string) => Promise<readonly string[] | null | undefined>;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Reads the addresses of keys that were restricted anywhere. */
export class AddressChanges {
  readonly #options: AddressChangesOptions;
  readonly #listeners = new Set<AddressListener>();
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  #running: Promise<void> = Promise.resolve();

  constructor(options: AddressChangesOptions) {
    this.#options = options;
    this.#unsubscribe = options.feed.subscribe(changeTopics.addresses, {
      onChange: ({ subject: keyId, tenantId }) => {
        if (tenantId === null || this.#listeners.size === 0) return;
        this.#running = this.#running.then(() => this.#tell(tenantScope(tenantId), keyId));
      },
      // Whoever misses changes ends all connections.
      onDropEverything: () => undefined,
    });
  }

  listen(listener: AddressListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#closing.abort();
    await this.#running;
  }

  async #tell(scope: TenantScope, keyId: string): Promise<void> {
    const { find, time, report } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const allowed = await find(scope, keyId);
        if (allowed === null || allowed === undefined) return;
        const ranges = rangesFrom(allowed);
        const allows = (address: string): boolean => holdsAddress(ranges, address);
        for (const listener of this.#listeners) listener({ keyId, allows });
        return;
      } catch (error) {
        report('read the addresses of a key', error);
        await sleep(time, retryMs, signal).catch(() => undefined); // woken early only to stop
      }
    }
  }
}
