/** Fields of a request that change the vendor's price. */
import type { CatalogueModel } from '../catalogue/model.js';
import type { WireDialect, WireField, WireRequest } from '../contract.js';

interface PricedField {
  readonly field: string;
  /** The values at the price of the catalogue, by the vendors' names. */
  readonly usual: ReadonlySet<unknown>;
}

const serviceTier: PricedField = {
  field: 'service_tier',
  usual: new Set(['auto', 'default', 'standard', 'standard_only', 'on_demand']),
};
const pricedFields: Readonly<Record<WireDialect, readonly PricedField[]>> = {
  chat: [serviceTier],
  messages: [
    serviceTier,
    { field: 'speed', usual: new Set(['standard']) },
    { field: 'inference_geo', usual: new Set(['global']) },
  ],
};

/**
 * A field that would be booked at a wrong price: the model has none for its value, or a field before it already has one,
 * since a price holds one surcharge and the vendor charges both. OpenRouter reports what it charges.
 */
export function unpricedIn(
  { dialect, body }: WireRequest,
  { family, price }: CatalogueModel,
): WireField | undefined {
  if (family === 'openrouter') return undefined;
  const tiers = price.service_tiers ?? {};
  let isPriced = false;
  for (const { field, usual } of pricedFields[dialect]) {
    const value = body[field];
    if (value === undefined || value === null || usual.has(value)) continue;
    if (isPriced || typeof value !== 'string' || !Object.hasOwn(tiers, value)) return { field, path: field };
    isPriced = true;
  }
  return undefined;
}
