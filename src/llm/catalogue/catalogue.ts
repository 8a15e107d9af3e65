import { readFileSync } from 'node:fs';
import { parseSimModel, simPattern } from '../sim/sim-model.js';
import { fromEntry, type CatalogueModel, type ModelEntry } from './model.js';
import { CatalogueError, parseModels } from './models-file.js';

/** The built-in vendors. The simulated vendor `sim` is not one of them. */
export const builtInVendors = ['openai', 'anthropic', 'google', 'xai', 'openrouter'] as const;
export type BuiltInVendor = (typeof builtInVendors)[number];

export type Resolution =
  | { readonly model: CatalogueModel }
  | { readonly problem: 'invalid_model' | 'invalid_provider' };

/** All known models. Later sources replace entries with the same id. */
export class Catalogue {
  readonly #models = new Map<string, CatalogueModel>();
  readonly #vendors = new Set<string>(['sim', ...builtInVendors]);

  constructor(...sources: readonly (readonly ModelEntry[])[]) {
    for (const entry of sources.flat()) {
      this.#models.set(entry.id, fromEntry(entry));
      this.#vendors.add(entry.vendor);
    }
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

  /** Resolves `model` and the optional `provider`; either may name the vendor. */
  resolve(model: string, provider?: string): Resolution {
    if (provider !== undefined && !this.#vendors.has(provider)) return { problem: 'invalid_provider' };
    const found =
      this.byId(model) ?? (provider === undefined ? undefined : this.byId(`${provider}.${model}`));
    if (found === undefined) return { problem: 'invalid_model' };
    return provider === undefined || found.vendor === provider
      ? { model: found }
      : { problem: 'invalid_model' };
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
