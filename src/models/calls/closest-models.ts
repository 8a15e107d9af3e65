import { askedBack, relativeDistance } from '../../kernel/closest-name.js';
import { type TenantLimits } from '../../kernel/caller.js';
import { modelTiersOf } from '../../kernel/plans/index.js';
import {
  type Catalogue,
  type CatalogueModel,
  type Keyring,
  type ModelKind,
  planTargets,
} from '../../llm/index.js';

const suggestedMax = 3;

/**
 * ` Did you mean …?` with the closest three of the models that the tenant can call now: with a key of its own, or with
 * the platform's within the tiers of the plan. Nothing else is suggested.
 */
export function modelsMeant(
  given: string,
  catalogue: Catalogue,
  keyring: Keyring,
  limits: TenantLimits,
  /** Only models of this kind are meant; undefined: of every kind. */
  kind?: ModelKind,
): string {
  const tiers = modelTiersOf(limits.plan);
  const isAllowed = ({ tier }: CatalogueModel): boolean => tiers.includes(tier);
  const isMeant = (model: CatalogueModel): boolean => kind === undefined || model.kind === kind;
  const usable = catalogue.all.filter(
    (model) => isMeant(model) && planTargets([model], keyring, isAllowed).targets.length > 0,
  );
  const ownNames = Object.entries(limits.modelAliases ?? {})
    .filter(([, target]) => {
      const found = target === 'auto' ? undefined : catalogue.resolve(target);
      return found === undefined || !('model' in found) || isMeant(found.model);
    })
    .map(([name]) => name);
  // `auto` chooses among models that answer.
  const automatic = kind === 'embedding' ? [] : ['auto'];
  const candidates = [
    ...usable.map(({ id, vendor }) => ({ name: id, spellings: [id, id.slice(vendor.length + 1)] })),
    ...[...automatic, ...ownNames].map((name) => ({ name, spellings: [name] })),
  ];
  return askedBack(
    candidates
      .map(({ name, spellings }) => ({
        name,
        distance: spellings.reduce((least, each) => Math.min(least, relativeDistance(given, each)), Infinity),
      }))
      .toSorted((one, other) => one.distance - other.distance)
      .slice(0, suggestedMax)
      .map(({ name }) => name),
  );
}
