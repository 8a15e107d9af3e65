import { z } from 'zod';
import { type ModelAliases, modelAliases } from '../../kernel/model-aliases.js';
import { modelFields, modelSchema, vendorName, type ModelEntry } from './model.js';

/** A catalogue file or variable that cannot be used. The message names the place, never a key. */
export class CatalogueError extends Error {
  constructor(source: string, problem: string) {
    super(`${source}: ${problem}`);
    this.name = 'CatalogueError';
  }
}

const file = z.union([
  z.array(modelSchema).transform((models) => ({ models, aliases: {} })),
  z.strictObject({ models: z.array(modelSchema).default([]), aliases: modelAliases.default({}) }),
]);

export interface ModelsFile {
  readonly models: readonly ModelEntry[];
  /** Names that stand for models, for all tenants. */
  readonly aliases: ModelAliases;
}

/** A file, given as its text: a list of models, or `{"models": […], "aliases": {…}}`. */
export function parseModelsFile(source: string, text: string): ModelsFile {
  return checked(source, file, parsed(source, text));
}

export function parseModels(source: string, text: string): readonly ModelEntry[] {
  return parseModelsFile(source, text).models;
}

const compatibleModel = z.union([
  z.string().min(1).max(200),
  modelFields
    .omit({ vendor: true })
    .partial()
    .extend({ id: z.string().min(1).max(200) }),
]);

const compatibleVendor = z.strictObject({
  name: vendorName,
  base_url: z.url({ protocol: /^https?$/ }),
  api_key: z.string().min(1).optional(),
  models: z.array(compatibleModel).min(1),
});

export interface CompatibleVendor {
  readonly name: string;
  readonly baseUrl: string;
  /** A function, so that no printed value shows the key. */
  readonly reveal: () => string | undefined;
  readonly models: readonly ModelEntry[];
}

const compatibleSource = 'OPENAI_COMPATIBLE_VENDORS';

/** The setting as its text. */
export function parseCompatibleVendors(text: string): readonly CompatibleVendor[] {
  return readCompatibleVendors(parsed(compatibleSource, text));
}

/** The setting as JSON. Models given by name alone are economical, free of charge and of modest size. */
export function readCompatibleVendors(value: unknown): readonly CompatibleVendor[] {
  return checked(compatibleSource, z.array(compatibleVendor), value).map((vendor) => ({
    name: vendor.name,
    baseUrl: vendor.base_url,
    reveal: () => vendor.api_key,
    models: vendor.models.map((given) => {
      const entry = typeof given === 'string' ? { id: given } : given;
      const prefix = `${vendor.name}.`;
      const name = entry.id.startsWith(prefix) ? entry.id.slice(prefix.length) : entry.id;
      return modelSchema.parse({ ...modest, ...entry, id: prefix + name, vendor: vendor.name });
    }),
  }));
}

export const modest = {
  tier: 'economical',
  context_window: 32_768,
  max_output_tokens: 8_192,
  price: { input_per_mtok: 0, output_per_mtok: 0 },
  capabilities: ['text', 'tools', 'temperature'],
};

export function parsed(source: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may hold a key.
    throw new CatalogueError(source, 'not valid JSON');
  }
}

export function checked<Output>(source: string, schema: z.ZodType<Output>, value: unknown): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new CatalogueError(source, `${place}${issue?.message ?? 'not valid'}`);
}
