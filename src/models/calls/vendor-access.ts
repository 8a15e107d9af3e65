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
  /** Models of the operator's models file. */
  readonly models: readonly ModelEntry[];
  /** The operator's names of models, in the same file. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Whether the built-in simulated vendor is enabled. */
  readonly sim: boolean;
}

/** The vendors of this installation, their models, and the platform's keys. */
export interface VendorAccess {
  readonly catalogue: Catalogue;
  readonly adapters: ReadonlyMap<string, VendorAdapter>;
  readonly keys: VendorKeys;
  /** Vendors for which a tenant may store a key. */
  readonly providers: readonly string[];
}

export function vendorAccess({
  vendors,
  compatible,
  models,
  aliases = {},
  sim,
}: AccessSettings): VendorAccess {
  const builtIn = builtInModels().filter(({ vendor }) => sim || vendor !== 'sim');
  return {
    catalogue: new Catalogue(builtIn, ...compatible.map((vendor) => vendor.models), models).withAliases(
      aliases,
    ),
    adapters: adaptersByVendor(compatible),
    keys: new VendorKeys(vendors, compatible),
    providers: [...builtInVendors, ...compatible.map(({ name }) => name)],
  };
}
