import { readFileSync } from 'node:fs';
import { parseSimModel, simPattern } from '../sim/sim-model.js';
import { capabilitiesIn, fromEntry, type CatalogueModel, type ModelEntry } from './model.js';
import { idsFor, undated } from './model-names.js';
import type { Family } from '../wire/field-table.js';
import { CatalogueError, parseModels } from './models-file.js';
import { builtInVendors } from './vendor-names.js';

export { builtInVendors, type BuiltInVendor } from './vendor-names.js';

export type Resolution =
  | { readonly model: CatalogueModel }
  | { readonly problem: 'invalid_model' | 'invalid_provider' };

/** All known models. Later sources replace entries with the same id. */
export class Catalogue {
  readonly #models = new Map<string, CatalogueModel>();
  readonly #vendors = new Set<string>(['sim', ...builtInVendors]);
  readonly #aliases = new Map<string, string>();

  constructor(...sources: readonly (readonly ModelEntry[])[]) {
    for (const entry of sources.flat()) {
      this.#models.set(entry.id, fromEntry(entry));
      this.#vendors.add(entry.vendor);
    }
  }

  /** What vendors of the operator speak, where it is not the chat format. */
  withFamilies(families: ReadonlyMap<string, Family>): this {
    for (const [id, model] of this.#models) {
      const family = families.get(model.vendor);
      if (family === undefined) continue;
      const capabilities = capabilitiesIn(family, model.capabilities);
      this.#models.set(id, { ...model, family, capabilities });
    }
    return this;
  }

  /** Names that stand for models, set by the operator. Refuses one whose model does not exist. */
  withAliases(aliases: Readonly<Record<string, string>>): this {
    for (const [alias, model] of Object.entries(aliases)) {
      if ('problem' in this.resolve(model)) {
        throw new CatalogueError('TROUPE_MODELS_FILE', `aliases.${alias}: there is no model ${model}`);
      }
    }
    for (const [alias, model] of Object.entries(aliases)) this.#aliases.set(alias, model);
    return this;
  }

  get all(): readonly CatalogueModel[] {
    return [...this.#models.values()];
  }

  hasVendor(vendor: string): boolean {
    return this.#vendors.has(vendor);
  }

  byId(id: string): CatalogueModel | undefined {
    return this.#models.get(id) ?? this.#sim(id);
  }

  /**
   * Resolves `model` and the optional `provider`; either may name the vendor. Of vendors that share a bare name,
   * `preferred` is meant. A dated name resolves to its model, which is then asked for under the dated name.
   */
  resolve(model: string, provider?: string, preferred?: string): Resolution {
    if (provider !== undefined && !this.#vendors.has(provider)) return { problem: 'invalid_provider' };
    const name = this.#aliases.get(model) ?? model;
    const vendors = provider === undefined ? this.#vendors : [];
    const isMeant = (found: CatalogueModel | undefined): found is CatalogueModel =>
      found !== undefined && (provider === undefined || found.vendor === provider);
    const ids = idsFor(name, vendors, provider ?? preferred);
    // Nearly always the first or second id is meant, so the others are not looked up.
    for (const id of ids) {
      const found = this.byId(id);
      if (isMeant(found)) return { model: found };
    }
    for (const id of ids) {
      const found = this.#dated(id);
      if (isMeant(found)) return { model: found };
    }
    return { problem: 'invalid_model' };
  }

  /** The id stays that of the model: it is what keys allow, prices name and books count. */
  #dated(id: string): CatalogueModel | undefined {
    const model = this.#models.get(undated(id) ?? '');
    return model === undefined ? undefined : { ...model, name: id.slice(model.vendor.length + 1) };
  }

  /** Models of `sim` are derived from their names. */
  #sim(id: string): CatalogueModel | undefined {
    const name = id.startsWith('sim.') ? id.slice('sim.'.length) : '';
    const parsed = parseSimModel(name);
    const pattern = parsed === undefined ? undefined : this.#models.get(simPattern(parsed));
    if (pattern === undefined) return undefined;
    return { ...pattern, id, name };
  }
}

/** The built-in catalogue. */
export function builtInModels(): readonly ModelEntry[] {
  return [...builtInVendors, 'sim'].flatMap((vendor) => {
    const url = new URL(`./models/${vendor}.json`, import.meta.url);
    return parseModels(`models/${vendor}.json`, readFileSync(url, 'utf8'));
  });
}

/** Refuses vendors of the operator that would hide a built-in one. */
export function assertNewVendor(name: string, source = 'OPENAI_COMPATIBLE_VENDORS'): void {
  if (name === 'sim' || builtInVendors.some((known) => known === name)) {
    throw new CatalogueError(source, `the name ${name} belongs to a built-in vendor`);
  }
}
