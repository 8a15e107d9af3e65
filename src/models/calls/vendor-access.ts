import {
  adaptersByVendor,
  builtInModels,
  builtInVendors,
  Catalogue,
  type CompatibleVendor,
  type ModelEntry,
  type VendorAdapter,
  VendorKeys,
  type VendorSettings,
} from '../../llm/index.js';

export interface AccessSettings {
  readonly vendors: VendorSettings;
  readonly compatible: readonly CompatibleVendor[];
  /** Models of the operator's own file. */
  readonly models: readonly ModelEntry[];
  /** Whether the built-in vendor for trials answers. */
  readonly sim: boolean;
}

/** With which vendors this installation speaks, for which models, and with what keys of its own. */
export interface VendorAccess {
  readonly catalogue: Catalogue;
  readonly adapters: ReadonlyMap<string, VendorAdapter>;
  readonly keys: VendorKeys;
  /** Vendors that a tenant may bring a key for. */
  readonly providers: readonly string[];
}

export function vendorAccess({ vendors, compatible, models, sim }: AccessSettings): VendorAccess {
  const builtIn = builtInModels().filter(({ vendor }) => sim || vendor !== 'sim');
  return {
    catalogue: new Catalogue(builtIn, ...compatible.map((vendor) => vendor.models), models),
    adapters: adaptersByVendor(compatible),
    keys: new VendorKeys(vendors, compatible),
    providers: [...builtInVendors, ...compatible.map(({ name }) => name)],
  };
}
