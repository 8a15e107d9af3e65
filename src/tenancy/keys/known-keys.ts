import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import type { Time } from '../../../cluster/index.js';
import type { KeyCaller, TenantLimits, VisitorCaller } from '../../kernel/caller.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import { limitsOf } from '../../kernel/plans/index.js';
import type { FailedCredentials } from '../quota/index.js';
import type { PublicKeyUse } from '../../http/operations/index.js';
import { publicUseOf } from './keys.store.js';
import { StoreError } from '../../infra/storage/index.js';
import { hashOf, isWellFormed, isWellFormedPublic } from './key-text.js';
import { type AddressRange, type KeyRules, rangesFrom, requireAddress } from './key-rules.js';
import { type PublicUse, requireOrigin, visitorOf } from './public-use.js';
import type { FoundKey } from './lookup.store.js';

/**
 * A cache of recently used keys, by their hash, so that a request needs no query.
 *
 * Entries are used only while the change feed is fresh. Each change drops its entries; a load that was running during a
 * drop is used but not cached, since it may have read the old row; the server looks the key up again if it ended meanwhile. Unknown hashes are cached for a few seconds in a
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
  /** Null for a key that is no public one. */
  readonly publicUse: PublicUse | null;
  /** Whether the operator has suspended the tenant. */
  readonly suspended: boolean;
  readonly deleting: boolean;
}

const publicKeyMessage =
  'This is a public key. It opens only the operations under /api/v1/chat/{publicKey}; use an API key (svc_…) here.';
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
    this.#known = recentEntries(options.keysMax, { dispose: (key) => this.#forget(key) });
    this.#unknown = recentEntries(options.keysMax, {
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
    if (isWellFormedPublic(apiKey)) throw this.#refusal(address, publicKeyMessage);
    if (!isWellFormed(apiKey)) throw this.#refusal(address);
    return this.authenticateHash(hashOf(apiKey), address);
  }

  /** The same for the hash of a key. */
  authenticateHash(hash: string, address: string): Ready<KeyCaller> {
    return whenReady(this.#find(hash, address), (key) => this.#accept(key, address));
  }

  /** The same for a public key, which a page uses. Throws `origin_not_allowed` for a page of another origin. */
  authenticateVisitor(use: PublicKeyUse): Ready<VisitorCaller> {
    return whenReady(this.#publicKey(use), (key) => {
      const visitorId = visitorOf(key.scope.tenantId, use.secret);
      this.#options.onUse(key);
      const { keyId, scope, limits, requestsPerMinute, quotaLimit, publicUse } = key;
      const agentIds = new Set(publicUse.agentIds);
      const { address } = use;
      return {
        kind: 'visitor',
        keyId,
        address,
        scope,
        limits,
        requestsPerMinute,
        quotaLimit,
        agentIds,
        visitorId,
      };
    });
  }

  /** Whether pages of the origin may use the public key. Throws `invalid_api_key` if there is no such key. */
  allowsOrigin(use: Omit<PublicKeyUse, 'secret'>): Ready<boolean> {
    return whenReady(this.#publicKey(use), () => true);
  }

  #publicKey({
    key: apiKey,
    origin,
    address,
  }: Omit<PublicKeyUse, 'secret'>): Ready<KnownKey & { readonly publicUse: PublicUse }> {
    if (!isWellFormedPublic(apiKey)) throw this.#refusal(address);
    return whenReady(this.#find(hashOf(apiKey), address), (key) => {
      const { publicUse } = key;
      if (publicUse === null) throw this.#refusal(address);
      this.#requireUsable(key, address);
      requireOrigin(publicUse, origin);
      return { ...key, publicUse };
    });
  }

  #find(hash: string, address: string): Ready<KnownKey> {
    if (this.#options.isFresh()) {
      const known = this.#known.get(hash);
      if (known !== undefined) return known;
      if (this.#unknown.has(hash)) throw this.#refusal(address);
    }
    return this.#load(hash, address).then((key) => {
      if (key === undefined) throw this.#refusal(address);
      return key;
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
    if (key.publicUse !== null) throw this.#refusal(address, publicKeyMessage);
    this.#requireUsable(key, address);
    this.#options.onUse(key);
    const { keyId, scope, role, limits, requestsPerMinute, quotaLimit } = key;
    return { kind: 'key', keyId, address, scope, role, limits, requestsPerMinute, quotaLimit };
  }

  #requireUsable(key: KnownKey, address: string): void {
    if (key.deleting) throw new PlatformError('tenant_not_found');
    if (key.expiresAtMs <= this.#options.time.wallMs()) throw this.#refusal(address);
    if (key.allowedRanges !== null) requireAddress(key.allowedRanges, address);
    if (key.suspended) throw new PlatformError('tenant_suspended');
  }

  #refusal(address: string, message?: string): PlatformError {
    const context = message === undefined ? {} : { message };
    return this.#options.failures?.note(address) ?? new PlatformError('invalid_api_key', context);
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
    const found = await this.#ask(hash, this.#options.failures?.isOver(address) === true);
    const remember = dropsBefore === this.#drops;
    if (found === undefined) {
      if (remember) this.#unknown.set(hash, true);
      return undefined;
    }
    const key = knownFrom(hash, found);
    if (remember) this.#remember(key);
    return key;
  }

  async #ask(hash: string, behindOthers: boolean): Promise<FoundKey | undefined> {
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
    allowedRanges: found.allowed_ips === null ? null : rangesFrom(found.allowed_ips),
    publicUse: publicUseOf(found),
    suspended: found.suspended,
    deleting: found.deleting,
  };
}
