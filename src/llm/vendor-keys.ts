import { builtInVendors, type BuiltInVendor } from './catalogue/catalogue.js';
import type { CompatibleVendor } from './catalogue/models-file.js';
import type { Credential } from './routing/plan.js';
import { defaultBaseUrls } from './vendors.js';

export type VendorSettings = Readonly<
  Partial<
    Record<BuiltInVendor, { readonly apiKey?: string | undefined; readonly baseUrl?: string | undefined }>
  >
>;

/** A tenant's own key, as read from the vault. */
export interface TenantKey {
  readonly secretId: string;
  /** Changes with the value, so that observations of a refused key do not apply to its successor. */
  readonly version: string;
  readonly reveal: () => string;
}

/** The keys: the operator's for all tenants, and the destination of a tenant's own key. */
export class VendorKeys {
  readonly #platform = new Map<string, Credential>();
  readonly #baseUrls = new Map<string, string>();

  constructor(settings: VendorSettings, compatible: readonly CompatibleVendor[]) {
    for (const vendor of builtInVendors) {
      const { apiKey, baseUrl = defaultBaseUrls[vendor] } = settings[vendor] ?? {};
      this.#baseUrls.set(vendor, baseUrl);
      if (apiKey !== undefined) this.#add(vendor, baseUrl, () => apiKey);
    }
    for (const { name, baseUrl, reveal } of compatible) {
      this.#baseUrls.set(name, baseUrl);
      this.#add(name, baseUrl, reveal);
    }
    this.#add('sim', '', () => undefined);
  }

  platform(vendor: string): Credential | undefined {
    return this.#platform.get(vendor);
  }

  /** Undefined for a vendor without a known address. */
  forTenant(vendor: string, key: TenantKey): Credential | undefined {
    const baseUrl = this.#baseUrls.get(vendor);
    if (baseUrl === undefined) return undefined;
    const { secretId, version, reveal } = key;
    return { id: `tenant:${secretId}:${version}`, vendor, payer: 'tenant', baseUrl, reveal };
  }

  #add(vendor: string, baseUrl: string, reveal: () => string | undefined): void {
    this.#platform.set(vendor, { id: `platform:${vendor}`, vendor, payer: 'platform', baseUrl, reveal });
  }
}
