import type { CatalogueModel } from '../../llm/index.js';
import { modelTiersOf } from '../../kernel/plans/index.js';
import type { TurnsParts } from './parts.js';
import type { TurnStart } from './turn.js';

/** The cheapest model that the tenant's plan and keys allow; the trial vendor only if there is no other. */
export async function cheapestModel(
  { catalogue, models }: Pick<TurnsParts, 'catalogue' | 'models'>,
  { scope, limits }: Pick<TurnStart, 'scope' | 'limits'>,
): Promise<string | undefined> {
  const hasKey = await models.vendorsOf(scope);
  const tiers = modelTiersOf(limits.plan);
  const open = catalogue.all.filter(
    ({ kind, vendor, tier }) => kind === 'chat' && tiers.includes(tier) && hasKey(vendor),
  );
  const real = open.filter(({ vendor }) => vendor !== 'sim');
  const [cheapest] = (real.length > 0 ? real : open).toSorted((a, b) => priceOf(a) - priceOf(b));
  return cheapest?.id;
}

/** A check reads much and writes one word, so the input price counts most. */
function priceOf({ price }: CatalogueModel): number {
  return 10 * price.input_per_mtok + price.output_per_mtok;
}
