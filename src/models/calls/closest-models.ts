import { askedBack, closestNames } from '../../kernel/closest-name.js';
import { type TenantLimits } from '../../kernel/caller.js';
import { modelTiersOf } from '../../kernel/plans/index.js';
import { type Catalogue, type CatalogueModel, type Keyring, planTargets } from '../../llm/index.js';

const suggestedMax = 3;

/**
 * ` Did you mean …?` with the ids of the models that the tenant can call now: with a key of its own, or with the
 * platform's within the tiers of the plan. Nothing else is suggested.
 */
export function modelsMeant(
  given: string,
  catalogue: Catalogue,
  keyring: Keyring,
  limits: TenantLimits,
): string {
  const tiers = modelTiersOf(limits.plan);
  const isAllowed = ({ tier }: CatalogueModel): boolean => tiers.includes(tier);
  const usable = catalogue.all.filter((model) => planTargets([model], keyring, isAllowed).targets.length > 0);
  const byId = closestNames(given, ['auto', ...usable.map(({ id }) => id)], suggestedMax);
  if (byId.length > 0) return askedBack(byId);
  // Clients of a vendor write its own names.
  const idOf = new Map(usable.map(({ id, vendor }) => [id.slice(vendor.length + 1), id]));
  const byName = closestNames(given, idOf.keys(), suggestedMax);
  return askedBack(byName.map((name) => idOf.get(name) ?? name));
}
