import {
  adaptersByVendor,
  builtInModels,
  builtInVendors,
  Catalogue,
  type CloudVendor,
  type CompatibleVendor,
  type ModelEntry,
  type VendorAdapter,
  VendorKeys,
  type VendorSettings,
} from '../../llm/index.js';

export interface AccessSettings {
  readonly vendors: VendorSettings;
  readonly compatible: readonly CompatibleVendor[];
  /** Vendors of the operator's vendors file. */
  readonly clouds?: readonly CloudVendor[];
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
  clouds = [],
  models,
  aliases = {},
  sim,
}: AccessSettings): VendorAccess {
  const own = [...compatible, ...clouds].map((vendor) => vendor.models);
  const builtIn = builtInModels().filter(({ vendor }) => sim || vendor !== 'sim');
  return {
    catalogue: new Catalogue(builtIn, ...own, models)
      .withFamilies(new Map(clouds.map(({ name, family }) => [name, family])))
      .withAliases(aliases),
    adapters: adaptersByVendor(compatible, clouds),
    keys: new VendorKeys(vendors, compatible, clouds),
    providers: [...builtInVendors, ...compatible.map(({ name }) => name)],
  };
}
