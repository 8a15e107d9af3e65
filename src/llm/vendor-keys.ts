import { hash } from 'node:crypto';
import { builtInVendors, type BuiltInVendor } from './catalogue/catalogue.js';
import type { CompatibleVendor } from './catalogue/models-file.js';
import type { CloudVendor } from './clouds/cloud-vendor.js';
import type { Credential } from './routing/plan.js';
import { defaultBaseUrls } from './vendors.js';

export type VendorSettings = Readonly<
  Partial<
    Record<
      BuiltInVendor,
      {
        readonly apiKey?: string | undefined;
        readonly apiKeys?: readonly PlatformKey[];
        readonly baseUrl?: string | undefined;
      }
    >
  >
>;

/** A key of the operator's, and the setting that holds it. */
export interface PlatformKey {
  readonly place: string;
  readonly value: string;
}

/** A tenant's own key, as read from the vault. */
export interface TenantKey {
  readonly secretId: string;
  /** Changes with the value, so that observations of a refused key do not apply to its successor. */
  readonly version: string;
  readonly reveal: () => string;
}

/** The keys: the operator's for all tenants, and the destination of a tenant's own key. */
export class VendorKeys {
  readonly #platform = new Map<string, readonly Credential[]>();
  readonly #baseUrls = new Map<string, string>();

  constructor(
    settings: VendorSettings,
    compatible: readonly CompatibleVendor[],
    clouds: readonly CloudVendor[] = [],
  ) {
    for (const vendor of builtInVendors) {
      const { apiKey, apiKeys = [], baseUrl = defaultBaseUrls[vendor] } = settings[vendor] ?? {};
      const only = apiKey === undefined ? [] : [{ place: `the key of ${vendor}`, value: apiKey }];
      this.#baseUrls.set(vendor, baseUrl);
      this.#platform.set(vendor, credentialsOf(vendor, baseUrl, [...only, ...apiKeys]));
    }
    for (const { name, baseUrl, reveal } of compatible) {
      this.#baseUrls.set(name, baseUrl);
      this.#platform.set(name, [platformKey(name, baseUrl, reveal)]);
    }
    for (const { name, credentials } of clouds) this.#platform.set(name, credentials);
    this.#platform.set('sim', [platformKey('sim', '', () => undefined)]);
  }

  /** In the operator's order; empty without a key. */
  platform(vendor: string): readonly Credential[] {
    return this.#platform.get(vendor) ?? [];
  }

  /** Undefined for a vendor without a known address. */
  forTenant(vendor: string, key: TenantKey): Credential | undefined {
    const baseUrl = this.#baseUrls.get(vendor);
    if (baseUrl === undefined) return undefined;
    const { secretId, version, reveal } = key;
    return { id: `tenant:${secretId}:${version}`, vendor, payer: 'tenant', baseUrl, reveal };
  }
}

/** Keys written twice count once. An only key has a plain id, so that its successor continues signed thoughts. */
function credentialsOf(vendor: string, baseUrl: string, keys: readonly PlatformKey[]): readonly Credential[] {
  const distinct = [...new Map(keys.map((key) => [key.value, key])).values()];
  return distinct.map(({ place, value }) => ({
    ...platformKey(vendor, baseUrl, () => value),
    place,
    ...(distinct.length > 1 && { id: `platform:${vendor}:${fingerprint(value)}` }),
  }));
}

function fingerprint(value: string): string {
  return hash('sha256', value, 'hex').slice(0, 12);
}

function platformKey(vendor: string, baseUrl: string, reveal: () => string | undefined): Credential {
  return { id: `platform:${vendor}`, vendor, payer: 'platform', baseUrl, reveal };
}
