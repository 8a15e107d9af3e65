import { z } from 'zod';
import type { BudgetBounds } from '../vendor.js';
import { type Family, familyOf } from '../wire/field-table.js';
import type { ModelTier } from '../../kernel/plans/index.js';

export const modelTiers = ['economical', 'premium', 'flagship'] as const satisfies readonly ModelTier[];

/** The kinds of task in which models differ; auto routing classifies prompts by them. */
export const taskKinds = ['code', 'mathematics', 'reasoning', 'extraction', 'small_talk', 'general'] as const;
/** What a model makes: answers, or vectors of its inputs. */
export const modelKinds = ['chat', 'embedding'] as const;
export type ModelKind = (typeof modelKinds)[number];
export type TaskKind = (typeof taskKinds)[number];

const dollars = z.number().min(0).max(100_000);
const tokens = z.int().min(1).max(100_000_000);

const rates = {
  input_per_mtok: dollars,
  output_per_mtok: dollars,
  cached_input_per_mtok: dollars.optional(),
  cache_write_5m_per_mtok: dollars.optional(),
  cache_write_1h_per_mtok: dollars.optional(),
};

/** The prices of the whole call if its prompt is longer than `above_tokens`. */
const longPrompt = z.strictObject({ above_tokens: tokens, ...rates });

/** Dollars per million tokens. `service_tiers` are those of the vendor, by its names, such as `flex` and `priority`. */
export const priceSchema = z.strictObject({
  ...rates,
  long_prompt: longPrompt.optional(),
  service_tiers: z
    .record(
      z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
      z.strictObject({ ...rates, long_prompt: longPrompt.optional() }),
    )
    .optional(),
});

/** A vendor's name: the part of a model's id before the first dot. */
export const vendorName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, 'a vendor is lower-case letters, digits and hyphens');

/** An entry of the catalogue, in the format of its files and of `GET /api/v3/llm/models`. */
export const modelFields = z.strictObject({
  id: z.string().min(3).max(200),
  vendor: vendorName,
  /** The vendor's name of the model, if it differs from the id without the vendor. */
  vendor_model: z.string().min(1).max(200).optional(),
  kind: z.enum(modelKinds).default('chat'),
  /** Of an embedding model: the length of its vectors. */
  dimensions: z.int().min(1).max(16_384).optional(),
  /** Of an embedding model: how many inputs a call may have. */
  max_inputs: z.int().min(1).max(2_048).optional(),
  tier: z.enum(modelTiers),
  context_window: tokens,
  max_output_tokens: tokens,
  /** The bounds of a budget of thoughts, for vendors that take one. */
  thinking_budget: z.strictObject({ min: tokens, max: tokens }).optional(),
  price: priceSchema,
  capabilities: z.array(z.string().regex(/^[a-z0-9_]{1,40}$/)).max(40),
  /** The quality of its answers, 1 to 100, set by the operator; auto routing weighs it against the price. */
  quality: z.int().min(1).max(100).default(50),
  /** The kinds of task at which it exceeds its general quality. */
  strengths: z.array(z.enum(taskKinds)).max(6).default([]),
});

export const modelSchema = modelFields.refine((model) => model.id.startsWith(`${model.vendor}.`), {
  message: 'an id is the vendor, a dot, and the name of the model',
  path: ['id'],
});

export type ModelEntry = z.output<typeof modelSchema>;
export type Price = ModelEntry['price'];

/** A model in the form that the rest of the library uses. */
export interface CatalogueModel {
  readonly id: string;
  readonly vendor: string;
  /** The vendors that treat the fields of a request as this one does. */
  readonly family: Family;
  /** The vendor's name of the model. */
  readonly name: string;
  readonly kind: ModelKind;
  readonly dimensions?: number;
  readonly maxInputs?: number;
  readonly tier: ModelTier;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly thinkingBudget?: BudgetBounds;
  readonly price: Price;
  readonly capabilities: ReadonlySet<string>;
  readonly quality: number;
  readonly strengths: ReadonlySet<TaskKind>;
}

export function fromEntry(entry: ModelEntry, family = familyOf(entry.vendor)): CatalogueModel {
  return {
    id: entry.id,
    vendor: entry.vendor,
    family,
    name: entry.vendor_model ?? entry.id.slice(entry.vendor.length + 1),
    kind: entry.kind,
    ...(entry.dimensions !== undefined && { dimensions: entry.dimensions }),
    ...(entry.max_inputs !== undefined && { maxInputs: entry.max_inputs }),
    tier: entry.tier,
    contextWindow: entry.context_window,
    maxOutputTokens: entry.max_output_tokens,
    ...(entry.thinking_budget !== undefined && { thinkingBudget: entry.thinking_budget }),
    price: family === 'openai' ? withFlex(entry.price) : entry.price,
    capabilities: capabilitiesIn(family, entry.capabilities),
    quality: entry.quality,
    strengths: new Set(entry.strengths),
  };
}

/** OpenAI charges half of the price for `flex`, for each model that it serves so. */
function withFlex(price: Price): Price {
  if (price.service_tiers?.['flex'] !== undefined) return price;
  const { long_prompt: long, service_tiers: tiers, ...short } = price;
  const flex = {
    ...halved(short),
    ...(long !== undefined && { long_prompt: { ...halved(long), above_tokens: long.above_tokens } }),
  };
  return { ...price, service_tiers: { ...tiers, flex } };
}

function halved<Rates extends object>(given: Rates): Rates {
  return Object.fromEntries(
    Object.entries(given).map(([name, dollars]) => [name, Number(dollars) / 2]),
  ) as Rates;
}

/** Families that render the pages of a document for each of their models that sees. */
const readsDocuments: ReadonlySet<Family> = new Set<Family>(['anthropic', 'openai', 'google', 'bedrock']);

/** What the family adds to what the entry says. */
export function capabilitiesIn(family: Family, said: Iterable<string>): ReadonlySet<string> {
  const all = new Set(said);
  if (readsDocuments.has(family) && all.has('vision')) all.add('documents');
  if (family === 'anthropic' && all.has('vision')) all.add('document_urls');
  return all;
}
