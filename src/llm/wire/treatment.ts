/** Applies the table of fields to a request and a model. */
import type { LlmRequest, WireDialect, WireField, WireRequest } from '../contract.js';
import type { CatalogueModel } from '../catalogue/model.js';
import { columns, type Family, type FieldRow, fieldTable, type Treatment } from './field-table.js';

const rows: Readonly<Record<WireDialect, ReadonlyMap<string, FieldRow>>> = {
  chat: new Map(fieldTable.chat.map((each) => [each.field, each])),
  messages: new Map(fieldTable.messages.map((each) => [each.field, each])),
};

/** The format that a family's own interface has, among the two that callers use. */
function dialectOf(family: Family): WireDialect | undefined {
  if (family === 'google' || family === 'bedrock' || family === 'sim') return undefined;
  return family === 'anthropic' ? 'messages' : 'chat';
}

/** What becomes of a field at the vendors of a family; fields that the table does not know are unknown elsewhere too. */
export function treatmentOf(dialect: WireDialect, field: string, family: Family): Treatment {
  if (dialectOf(family) === dialect) return 'passed';
  const known = rows[dialect].get(field);
  // The simulated vendor refuses nothing, so that any program can be tried with it.
  if (family === 'sim')
    return known?.elsewhere.every((each) => each === 'translated') === true ? 'translated' : 'ignored';
  const places: readonly Family[] = columns[dialect];
  return known?.elsewhere[places.indexOf(family)] ?? 'refused';
}

export interface Honoured {
  /** The first field that the model's vendor cannot honour. */
  readonly refused: WireField | undefined;
  /** The fields that do not reach the vendor. */
  readonly ignored: readonly WireField[];
}

const everything: Honoured = { refused: undefined, ignored: [] };

/** Service tiers at the price of the catalogue, by the vendors' names. */
const usualTiers: ReadonlySet<unknown> = new Set([
  'auto',
  'default',
  'standard',
  'standard_only',
  'on_demand',
]);

/** A service tier that would be booked at a wrong price. OpenRouter reports what it charges. */
function unpricedTier({ body }: WireRequest, { family, price }: CatalogueModel): WireField | undefined {
  const tier = body['service_tier'];
  if (tier === undefined || tier === null || usualTiers.has(tier) || family === 'openrouter')
    return undefined;
  const isPriced = typeof tier === 'string' && Object.hasOwn(price.service_tiers ?? {}, tier);
  return isPriced ? undefined : { field: 'service_tier', path: 'service_tier' };
}

export function honouredBy({ wire }: LlmRequest, model: CatalogueModel): Honoured {
  const { family, capabilities } = model;
  if (wire === undefined) return everything;
  if (dialectOf(family) === wire.dialect) return { refused: unpricedTier(wire, model), ignored: [] };
  let refused: WireField | undefined;
  const ignored: WireField[] = [];
  for (const each of wire.fields) {
    const treatment = treatmentOf(wire.dialect, each.field, family);
    const needs = rows[wire.dialect].get(each.field)?.needs;
    if (treatment === 'refused') refused ??= each;
    else if (
      treatment === 'ignored' ||
      (needs !== undefined && family !== 'sim' && !capabilities.has(needs))
    ) {
      ignored.push(each);
    }
  }
  return { refused, ignored };
}
