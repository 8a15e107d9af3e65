import { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Credential, VendorKeys } from '../../llm/index.js';
import type { ChangeFeed, HotReads } from '../../infra/storage/index.js';
import {
  allowsHost,
  type ProviderKey,
  providerKeyTopic,
  readProviderKeys,
  type SecretValue,
  type Vault,
} from '../../tenancy/vault/index.js';

export interface OwnKeysParts {
  readonly reads: HotReads;
  /** Without it the keys are read with every call. */
  readonly feed?: Pick<ChangeFeed, 'subscribe' | 'isFresh'> | undefined;
  readonly vault: Pick<Vault, 'resolve'>;
  readonly keys: Pick<VendorKeys, 'forTenant'>;
  readonly report: (attempted: string, error: unknown) => void;
}

const openedMax = 10_000;
/** An opened value that no call uses for this long leaves memory. */
const openedMs = 300_000;

const tenantsMax = 100_000;
const none: ReadonlyMap<string, Credential> = new Map();

/**
 * The tenants' own vendor keys. The list of a tenant's keys is cached until the change feed reports a change; this node
 * receives the report before the request that made the change is answered. Each version of a value is opened once.
 */
export class OwnKeys {
  readonly #parts: OwnKeysParts;
  readonly #opened = new LRUCache<string, SecretValue>({ max: openedMax, ttl: openedMs });

  readonly #known = recentEntries<readonly ProviderKey[]>(tenantsMax);
  readonly #unsubscribe: (() => void) | undefined;
  #drops = 0;

  constructor(parts: OwnKeysParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.feed?.subscribe(providerKeyTopic, {
      onChange: ({ tenantId }) => {
        this.#drops += 1;
        this.#known.delete(tenantId ?? '');
      },
      onDropEverything: () => {
        this.#drops += 1;
        this.#known.clear();
      },
    });
  }

  close(): void {
    this.#unsubscribe?.();
  }

  /** One credential for each vendor that the tenant has a key for. */
  of(scope: TenantScope): Ready<ReadonlyMap<string, Credential>> {
    return whenReady(this.#remembered(scope) ?? this.#read(scope), (keys) =>
      keys.length === 0 ? none : this.#credentials(scope, keys),
    );
  }

  async #credentials(
    scope: TenantScope,
    keys: readonly ProviderKey[],
  ): Promise<ReadonlyMap<string, Credential>> {
    const credentials = new Map<string, Credential>();
    for (const key of keys) {
      if (credentials.has(key.provider)) continue;
      const credential = await this.#credential(scope, key);
      if (credential !== undefined) credentials.set(key.provider, credential);
    }
    return credentials;
  }

  #remembered({ tenantId }: TenantScope): readonly ProviderKey[] | undefined {
    return this.#parts.feed?.isFresh() === true ? this.#known.get(tenantId) : undefined;
  }

  async #read(scope: TenantScope): Promise<readonly ProviderKey[]> {
    const dropsBefore = this.#drops;
    const keys = await readProviderKeys(this.#parts.reads, scope);
    // A change during the read may be missing from it: use the result for this call without caching it.
    if (this.#parts.feed !== undefined && dropsBefore === this.#drops) this.#known.set(scope.tenantId, keys);
    return keys;
  }

  async #credential(scope: TenantScope, key: ProviderKey): Promise<Credential | undefined> {
    const id = `${scope.tenantId}:${key.id}:${key.version}`;
    const value = this.#opened.get(id) ?? (await this.#open(scope, key, id));
    if (value === undefined) return undefined;
    const credential = this.#parts.keys.forTenant(key.provider, {
      secretId: key.id,
      version: String(key.version),
      reveal: () => value.reveal(),
    });
    const mayGoThere =
      credential === undefined ||
      key.allowed_hosts === null ||
      allowsHost(key.allowed_hosts, new URL(credential.baseUrl).hostname);
    return mayGoThere ? credential : undefined;
  }

  /** A key that cannot be opened, or was just deleted, counts as absent: the platform's key serves the call. */
  async #open(scope: TenantScope, key: ProviderKey, id: string): Promise<SecretValue | undefined> {
    try {
      const { value, version } = await this.#parts.vault.resolve(scope, { vault_secret_id: key.id });
      if (version === key.version) this.#opened.set(id, value);
      return value;
    } catch (error) {
      this.#parts.report("opening a tenant's vendor key", error);
      return undefined;
    }
  }
}
