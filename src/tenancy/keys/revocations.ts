import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import { sleep, type Time, type Timer } from '../../../cluster/index.js';
import type { ChangeFeed } from '../../infra/storage/index.js';
import { changeTopics, tenantTopic } from './changes.js';
import type { KeyRulesOf } from './key-rules.js';
import type { KnownKey, KnownKeys } from './known-keys.js';

/** A key that is no longer valid, for owners of connections that were opened with it. */
export interface EndedKey {
  readonly tenantId: string;
  readonly keyId: string;
}

export type EndedKeyListener = (ended: EndedKey) => void;

const expiryCheckMs = 250;
const retryMs = 250;
const hashesMax = 1_000;

export interface RevocationsOptions {
  readonly feed: ChangeFeed;
  readonly known: KnownKeys;
  readonly rules: Pick<KeyRulesOf, 'drop' | 'dropAll'>;
  readonly findRevoked: (hashes: readonly string[]) => Promise<readonly { tenant_id: string; id: string }[]>;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
  readonly keysMax: number;
}

/** Follows the change feed: drops cached keys and reports keys that ended. */
export class Revocations {
  readonly #options: RevocationsOptions;
  readonly #listeners = new Set<EndedKeyListener>();
  /** Keys with an expiry that were accepted here, with the time of expiry. */
  readonly #expiring = new Map<string, { readonly tenantId: string; readonly expiresAtMs: number }>();
  /**
   * The hashes of keys that were accepted here. Separate from the cache of keys, which drops a key with each change while
   * the connections opened with it stay open.
   */
  readonly #used: LRUCache<string, string>;
  readonly #closing = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];
  #running: Promise<void> = Promise.resolve();
  #timer: Timer;

  constructor(options: RevocationsOptions) {
    this.#options = options;
    this.#used = recentEntries(options.keysMax);
    const { feed, known, rules } = options;
    const onDropEverything = (): void => this.#dropEverything();
    this.#unsubscribe = [
      feed.subscribe(changeTopics.changed, {
        onChange: ({ subject, tenantId }) => {
          known.dropKey(subject);
          rules.drop(tenantId, subject);
        },
        onDropEverything,
      }),
      feed.subscribe(changeTopics.revoked, {
        onChange: ({ subject, tenantId }) => {
          known.dropKey(subject);
          if (tenantId !== null) this.#tell({ tenantId, keyId: subject });
        },
        // The drop of the first subscription covers all three.
        onDropEverything: () => undefined,
      }),
      feed.subscribe(tenantTopic, {
        onChange: ({ subject }) => known.dropTenant(subject),
        onDropEverything: () => undefined,
      }),
    ];
    this.#timer = this.#watchExpiry();
  }

  onEnded(listener: EndedKeyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  noteUse({ keyId, hash, scope, expiresAtMs }: KnownKey): void {
    if (this.#used.get(keyId) === undefined) this.#used.set(keyId, hash);
    if (expiresAtMs !== Number.POSITIVE_INFINITY) {
      this.#expiring.set(keyId, { tenantId: scope.tenantId, expiresAtMs });
    }
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#timer.cancel();
    this.#closing.abort();
    await this.#running;
  }

  #tell(ended: EndedKey): void {
    this.#expiring.delete(ended.keyId);
    this.#used.delete(ended.keyId);
    for (const listener of this.#listeners) listener(ended);
  }

  #watchExpiry(): Timer {
    const { time } = this.#options;
    return time.after(expiryCheckMs, () => {
      const now = time.wallMs();
      for (const [keyId, { tenantId, expiresAtMs }] of this.#expiring) {
        if (expiresAtMs <= now) this.#tell({ tenantId, keyId });
      }
      this.#timer = this.#watchExpiry();
    });
  }

  /** The feed lost its position: asks the store which of the keys used here have ended. */
  #dropEverything(): void {
    const hashes = [...this.#used.values()];
    this.#options.known.dropAll();
    this.#options.rules.dropAll();
    this.#running = Promise.all([this.#running, this.#tellOfRevoked(hashes)]).then(() => undefined);
  }

  async #tellOfRevoked(hashes: readonly string[]): Promise<void> {
    const { findRevoked, time, report } = this.#options;
    const { signal } = this.#closing;
    for (let start = 0; start < hashes.length && !signal.aborted;) {
      try {
        for (const { tenant_id: tenantId, id } of await findRevoked(hashes.slice(start, start + hashesMax))) {
          this.#tell({ tenantId, keyId: id });
        }
        start += hashesMax;
      } catch (error) {
        report('look for revoked keys', error);
        await sleep(time, retryMs, signal).catch(() => undefined); // woken early only to stop
      }
    }
  }
}
