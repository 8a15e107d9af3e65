import { LRUCache } from 'lru-cache';
import type { Time } from '../../../cluster/index.js';
import type { KeyCaller, TenantLimits } from '../../kernel/caller.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { limitsOf } from '../../kernel/plans/index.js';
import type { FailedCredentials } from '../quota/index.js';
import { StoreError } from '../../infra/storage/index.js';
import { hashOf, isWellFormed } from './key-text.js';
import { type AddressRange, type KeyRules, rangeFrom, requireAddress } from './key-rules.js';
import type { FoundKey } from './lookup.store.js';

/**
 * A cache of recently used keys, by their hash, so that a request needs no query.
 *
 * Entries are used only while the change feed is fresh. Each change drops its entries; a load that was running during a
 * drop is used but not cached, since it may have read the old row. Unknown hashes are cached for a few seconds in a
 * separate cache, so that a repeated wrong key neither reaches the store each time nor evicts real keys. Hashes come
 * from 160 random bits, so no key that is made later is among them.
 */
export interface KnownKey {
  readonly hash: string;
  readonly keyId: string;
  readonly scope: TenantScope;
  readonly role: KeyCaller['role'];
  readonly limits: TenantLimits;
  readonly requestsPerMinute: number;
  readonly quotaLimit: number | null;
  readonly expiresAtMs: number;
  readonly rules: KeyRules;
  /** Where the key may be used from; null allows every address. */
  readonly allowedRanges: readonly AddressRange[] | null;
  /** Whether the operator has suspended the tenant. */
  readonly suspended: boolean;
  readonly deleting: boolean;
}

const unknownMs = 5_000;

export interface KnownKeysOptions {
  /** `behindOthers`: the address has sent too many wrong keys. */
  readonly find: (hash: string, behindOthers: boolean) => Promise<FoundKey | undefined>;
  /** Counts wrong keys by address; without it they are not counted. */
  readonly failures?: Pick<FailedCredentials, 'isOver' | 'note'> | undefined;
  readonly isFresh: () => boolean;
  readonly time: Time;
  readonly keysMax: number;
  /** Called each time a key is accepted. */
  readonly onUse: (key: KnownKey) => void;
}

export class KnownKeys {
  readonly #options: KnownKeysOptions;
  readonly #known: LRUCache<string, KnownKey>;
  readonly #unknown: LRUCache<string, true>;
  readonly #loading = new Map<string, Promise<KnownKey | undefined>>();
  readonly #hashOfKey = new Map<string, string>();
  readonly #keysOfTenant = new Map<string, Set<string>>();
  #drops = 0;

  constructor(options: KnownKeysOptions) {
    this.#options = options;
    this.#known = new LRUCache({ max: options.keysMax, dispose: (key) => this.#forget(key) });
    this.#unknown = new LRUCache({
      max: options.keysMax,
      ttl: unknownMs,
      ttlResolution: 0,
      perf: { now: () => options.time.monotonicMs() },
    });
  }

  get size(): number {
    return this.#known.size;
  }

  /** Without a promise if the key is in memory. Throws `invalid_api_key`, or the refusal of too many wrong keys. */
  authenticate(apiKey: string, address: string): KeyCaller | Promise<KeyCaller> {
    if (!isWellFormed(apiKey)) throw this.#refusal(address);
    return this.authenticateHash(hashOf(apiKey), address);
  }

  /** The same for the hash of a key. */
  authenticateHash(hash: string, address: string): KeyCaller | Promise<KeyCaller> {
    if (this.#options.isFresh()) {
      const known = this.#known.get(hash);
      if (known !== undefined) return this.#accept(known, address);
      if (this.#unknown.has(hash)) throw this.#refusal(address);
    }
    return this.#load(hash, address).then((key) => {
      if (key === undefined) throw this.#refusal(address);
      return this.#accept(key, address);
    });
  }

  /** The rules of a key, if it is in memory; the caller checks that the feed is fresh. */
  rulesOf(keyId: string): KeyRules | undefined {
    const hash = this.#hashOfKey.get(keyId);
    return hash === undefined ? undefined : this.#known.peek(hash)?.rules;
  }

  dropKey(keyId: string): void {
    this.#drops += 1;
    this.#loading.clear();
    const hash = this.#hashOfKey.get(keyId);
    if (hash !== undefined) this.#known.delete(hash);
  }

  dropTenant(tenantId: string): void {
    this.#drops += 1;
    this.#loading.clear();
    for (const hash of this.#keysOfTenant.get(tenantId) ?? []) this.#known.delete(hash);
  }

  dropAll(): void {
    this.#drops += 1;
    this.#loading.clear();
    this.#known.clear();
    this.#unknown.clear();
  }

  #accept(key: KnownKey, address: string): KeyCaller {
    if (key.deleting) throw new PlatformError('tenant_not_found');
    if (key.expiresAtMs <= this.#options.time.wallMs()) throw this.#refusal(address);
    if (key.allowedRanges !== null) requireAddress(key.allowedRanges, address);
    if (key.suspended) throw new PlatformError('tenant_suspended');
    this.#options.onUse(key);
    const { keyId, scope, role, limits, requestsPerMinute, quotaLimit } = key;
    return { kind: 'key', keyId, address, scope, role, limits, requestsPerMinute, quotaLimit };
  }

  #refusal(address: string): PlatformError {
    return this.#options.failures?.note(address) ?? new PlatformError('invalid_api_key');
  }

  /** Concurrent callers share one load; callers after a drop do not join an older one. */
  #load(hash: string, address: string): Promise<KnownKey | undefined> {
    const running = this.#loading.get(hash);
    if (running !== undefined) return running;
    const loading = this.#read(hash, address).finally(() => {
      if (this.#loading.get(hash) === loading) this.#loading.delete(hash);
    });
    this.#loading.set(hash, loading);
    return loading;
  }

  async #read(hash: string, address: string): Promise<KnownKey | undefined> {
    const dropsBefore = this.#drops;
    const found = await this.#find(hash, this.#options.failures?.isOver(address) === true);
    const remember = dropsBefore === this.#drops;
    if (found === undefined) {
      if (remember) this.#unknown.set(hash, true);
      return undefined;
    }
    const key = knownFrom(hash, found);
    if (remember) this.#remember(key);
    return key;
  }

  async #find(hash: string, behindOthers: boolean): Promise<FoundKey | undefined> {
    try {
      return await this.#options.find(hash, behindOthers);
    } catch (cause) {
      if (!(cause instanceof StoreError && cause.retryable)) throw cause;
      throw new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause });
    }
  }

  #remember(key: KnownKey): void {
    this.#known.set(key.hash, key);
    this.#hashOfKey.set(key.keyId, key.hash);
    const { tenantId } = key.scope;
    const ofTenant = this.#keysOfTenant.get(tenantId);
    if (ofTenant === undefined) this.#keysOfTenant.set(tenantId, new Set([key.hash]));
    else ofTenant.add(key.hash);
  }

  #forget(key: KnownKey): void {
    this.#hashOfKey.delete(key.keyId);
    const ofTenant = this.#keysOfTenant.get(key.scope.tenantId);
    ofTenant?.delete(key.hash);
    if (ofTenant?.size === 0) this.#keysOfTenant.delete(key.scope.tenantId);
  }
}

function knownFrom(hash: string, found: FoundKey): KnownKey {
  const limits = limitsOf(found.plan, found.settings);
  return {
    hash,
    keyId: found.id,
    scope: tenantScope(found.tenant_id),
    role: found.role,
    limits,
    requestsPerMinute: Math.min(found.rate_limit_per_minute, limits.keyRpmMax),
    quotaLimit: found.quota_limit,
    expiresAtMs: found.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    rules: { allowedModels: found.allowed_models, budget: found.budget },
    allowedRanges: found.allowed_ips?.map(rangeFrom).filter((range) => range !== null) ?? null,
    suspended: found.suspended,
    deleting: found.deleting,
  };
}
