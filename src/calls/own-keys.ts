import { LRUCache } from 'lru-cache';
import type { TenantScope } from '../context/tenant-scope.js';
import type { Credential, VendorKeys } from '../llm/index.js';
import type { HotReads } from '../storage/index.js';
import {
  allowsHost,
  type ProviderKey,
  readProviderKeys,
  type SecretValue,
  type Vault,
} from '../vault/index.js';

export interface OwnKeysParts {
  readonly reads: HotReads;
  readonly vault: Pick<Vault, 'resolve'>;
  readonly keys: Pick<VendorKeys, 'forTenant'>;
  readonly report: (attempted: string, error: unknown) => void;
}

const openedMax = 10_000;
/** A value that nobody calls with does not stay in memory. */
const openedMs = 300_000;

/**
 * The tenants' own vendor keys. Which there are is read with every call, so that a key works, or stops working, with
 * the very next one; a value is opened once for each version of it.
 */
export class OwnKeys {
  readonly #parts: OwnKeysParts;
  readonly #opened = new LRUCache<string, SecretValue>({ max: openedMax, ttl: openedMs });

  constructor(parts: OwnKeysParts) {
    this.#parts = parts;
  }

  /** One credential for each vendor that the tenant has a key for. */
  async of(scope: TenantScope): Promise<ReadonlyMap<string, Credential>> {
    const credentials = new Map<string, Credential>();
    for (const key of await readProviderKeys(this.#parts.reads, scope)) {
      if (credentials.has(key.provider)) continue;
      const credential = await this.#credential(scope, key);
      if (credential !== undefined) credentials.set(key.provider, credential);
    }
    return credentials;
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

  /** A key that does not open, or was deleted a moment ago, counts as none: the platform's serves the call. */
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
