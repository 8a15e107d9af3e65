/** The targets of a call, in order: combines models, keys and the tiers of the plan. */
import { didYouMean } from '../../kernel/closest-name.js';
import { PlatformError } from '../../kernel/errors.js';
import { modelMeantBy } from '../../kernel/model-aliases.js';
import {
  type CallPlan,
  type CatalogueModel,
  chooseModel,
  type CircuitBreakers,
  type Credential,
  honouredBy,
  type KeyLoads,
  type Keyring,
  type Observations,
  type Origin,
  pinOf,
  planTargets,
  type RefusedField,
  type Routing,
  type Target,
  unreadablePart,
} from '../../llm/index.js';
import { modelTiersOf } from '../../kernel/plans/index.js';
import type { CallOrder } from './call-order.js';
import { modelsMeant } from './closest-models.js';
import { isOfKind, kindOf, unfitFor } from './model-fit.js';
import { unsupportedContent } from './unsupported-content.js';
import type { VendorAccess } from './vendor-access.js';

export interface ChosenTargets {
  readonly plan: CallPlan;
  /** Set if the service chose the model. */
  readonly routing: Routing | undefined;
  /** Replaces the vendor's refusal of a tenant's own key if the plan's tiers exclude the model from the platform's keys. */
  readonly tierRefusalOf: (model: CatalogueModel) => PlatformError | undefined;
}

export interface ChoosingParts {
  readonly access: VendorAccess;
  /** False: of the platform's keys the tenant may use only that of the simulated vendor. */
  readonly platformKeys: boolean;
  readonly breakers: CircuitBreakers;
  readonly observations: Observations;
  readonly loads: KeyLoads;
  readonly nowMs: () => number;
  /** Whether the caller's key may ask for the model. */
  readonly mayAsk: (model: string) => boolean;
}

/** `allowed`: ids, or prefixes that end with `*`; without a list, all models. */
export function allowsModel(allowed: readonly string[] | null | undefined, model: string): boolean {
  if (allowed === null || allowed === undefined) return true;
  return allowed.some((one) => (one.endsWith('*') ? model.startsWith(one.slice(0, -1)) : one === model));
}

export function chooseTargets(
  given: CallOrder,
  own: ReadonlyMap<string, Credential>,
  parts: ChoosingParts,
): ChosenTargets {
  const order = { ...given, model: modelMeantBy(given.limits, given.model) };
  const keyring = keyringOf(own, parts.access, parts.platformKeys, parts.loads);
  if (order.model !== 'auto') return named(order, keyring, parts);
  return continued(order, keyring, parts) ?? routed(order, keyring, parts);
}

export function keyringOf(
  own: ReadonlyMap<string, Credential>,
  { keys }: VendorAccess,
  platformKeys = true,
  loads?: KeyLoads,
): Keyring {
  return {
    tenant: (vendor) => own.get(vendor),
    platform: (vendor) => {
      const all = platformKeys || vendor === 'sim' ? keys.platform(vendor) : [];
      return loads === undefined ? all : loads.inOrder(all);
    },
  };
}

function named(
  order: CallOrder,
  keyring: Keyring,
  { access, platformKeys, mayAsk }: ChoosingParts,
): ChosenTargets {
  const found = access.catalogue.resolve(order.model, order.provider, order.preferredVendor);
  if ('problem' in found) throw unknownModel(found.problem, order, keyring, access);
  const { model } = found;
  if (!mayAsk(model.id)) throw notForKey(model.id);
  const unfit = unfitFor(model, order.request);
  if (unfit !== undefined) throw unfit;
  const tiers = modelTiersOf(order.limits.plan);
  const isAllowed = ({ tier }: CatalogueModel): boolean => tiers.includes(tier);
  if (planTargets([model], keyring, isAllowed).targets.length === 0) {
    // A model outside the tiers cannot use a platform key, so the tier is reported first.
    if (!isAllowed(model)) throw outsideTiers(model, order);
    const withheld = !platformKeys && access.keys.platform(model.vendor).length > 0;
    throw withheld ? unverified(model.id) : unavailable(model.id);
  }
  const unreadable = unreadablePart(order.request, model.capabilities);
  if (unreadable !== undefined) throw unsupportedContent(model.id, unreadable);
  const { refused } = honouredBy(order.request, model);
  if (refused !== undefined) throw cannotHonour(refused, model);
  const chain = [model, ...fallbacks(order, access)].filter(({ id }) => mayAsk(id));
  const { targets } = planTargets([...new Set(chain)], keyring, isAllowed);
  return {
    plan: { targets: makersFirst(targets, pinOf(order.request.messages)), mayEnlarge: false },
    routing: undefined,
    tierRefusalOf: (refused) => (isAllowed(refused) ? undefined : outsideTiers(refused, order)),
  };
}

function notForKey(model: string): PlatformError {
  return new PlatformError('invalid_model_for_key', {
    message: `This API key may not use the model ${shown(model)}. Choose a model of its allowed_models.`,
    details: { field: 'model', model },
  });
}

function unverified(model: string): PlatformError {
  return new PlatformError('email_unverified', {
    message: `The platform's key for ${model} needs an owner of the tenant with a verified email address. Open the link in the verification mail, request another with POST /api/auth/verify/resend, use a vendor key of your own, or a model of the vendor sim.`,
    details: { model },
  });
}

function fallbacks(order: CallOrder, access: VendorAccess): CatalogueModel[] {
  return (order.fallbackModels ?? []).flatMap((name) => {
    const found = access.catalogue.resolve(modelMeantBy(order.limits, name));
    const mayServe = 'model' in found && canServe(found.model, order) && isOfKind(found.model, order.request);
    return mayServe ? [found.model] : [];
  });
}

/** A signed thought in progress goes to its maker first. Other targets see the conversation without it. */
function makersFirst(targets: readonly Target[], pin: Origin | undefined): readonly Target[] {
  if (pin === undefined) return targets;
  const isMaker = ({ model, credential }: Target): boolean =>
    model.id === pin.model && credential.id === pin.credentialId;
  return [...targets.filter(isMaker), ...targets.filter((target) => !isMaker(target))];
}

/** Only its maker can continue a signed thought in progress. */
function continued(
  order: CallOrder,
  keyring: Keyring,
  { access, mayAsk }: ChoosingParts,
): ChosenTargets | undefined {
  const pin = pinOf(order.request.messages);
  const model = pin === undefined ? undefined : access.catalogue.byId(pin.model);
  if (pin === undefined || model === undefined || !mayAsk(model.id)) return undefined;
  if (honouredBy(order.request, model).refused !== undefined) return undefined;
  const tiers = modelTiersOf(order.limits.plan);
  const { targets } = planTargets([model], keyring, ({ tier }) => tiers.includes(tier));
  const makers = targets.filter(({ credential }) => credential.id === pin.credentialId);
  if (makers.length === 0) return undefined;
  const reason = `${model.id} made the signed thought that this call continues`;
  return {
    plan: { targets: makers, mayEnlarge: false },
    routing: { is_auto_routed: true, model_chosen: model.id, confidence: 1, reason },
    tierRefusalOf: () => undefined,
  };
}

function routed(order: CallOrder, keyring: Keyring, parts: ChoosingParts): ChosenTargets {
  const { access, breakers, observations } = parts;
  const { provider } = order;
  if (provider !== undefined && !access.catalogue.hasVendor(provider)) {
    throw unknownModel('invalid_provider', order, keyring, access);
  }
  const nowMs = parts.nowMs();
  const tiers = modelTiersOf(order.limits.plan);
  const ofProvider = access.catalogue.all.filter(
    (model) => (provider === undefined || model.vendor === provider) && isOfKind(model, order.request),
  );
  const askable = ofProvider.filter(({ id }) => parts.mayAsk(id));
  if (askable.length === 0 && ofProvider.length > 0) throw notForKey('auto');
  const models = askable.filter((model) => honouredBy(order.request, model).refused === undefined);
  const keysOf = (vendor: string): readonly Credential[] =>
    [keyring.tenant(vendor), ...keyring.platform(vendor)].filter((key) => key !== undefined);
  const observed = (model: string) => observations.of(model, nowMs);
  const isWell = ({ vendor }: CatalogueModel): boolean =>
    keysOf(vendor).some(({ id }) => !breakers.isOpen(vendor, id, nowMs));
  const hasKey = ({ vendor }: CatalogueModel): boolean => keysOf(vendor).length > 0;
  const isWithheld = ({ vendor, tier }: CatalogueModel): boolean =>
    vendor !== 'sim' && tiers.includes(tier) && access.keys.platform(vendor).length > 0;
  const choice =
    chooseModel(order.request, models, { tiers, isAvailable: isWell, observed }) ??
    // If the circuit breakers exclude every model, one of them is tried anyway.
    chooseModel(order.request, models, { tiers, isAvailable: hasKey, observed });
  const wantsReal = choice === undefined || choice.chain.every(({ vendor }) => vendor === 'sim');
  if (wantsReal && !parts.platformKeys && models.some(isWithheld)) throw unverified('auto');
  if (wantsReal) {
    // A model of the format itself has the field, so an answer of the simulated vendor, which ignores it, helps nobody.
    for (const model of askable) {
      if (!tiers.includes(model.tier) || !hasKey(model)) continue;
      const { refused } = honouredBy(order.request, model);
      if (refused !== undefined && refused.reason !== 'unknown') throw cannotHonour(refused, model);
    }
  }
  if (choice === undefined) {
    const barred = askable.find((model) => hasKey(model) && !models.includes(model));
    const refused = barred === undefined ? undefined : honouredBy(order.request, barred).refused;
    if (barred !== undefined && refused !== undefined) throw cannotHonour(refused, barred);
    const part = unreadablePart(order.request, new Set());
    const withoutParts = { ...order.request, messages: [] };
    const isForParts = chooseModel(withoutParts, models, { tiers, isAvailable: hasKey, observed });
    if (part !== undefined && isForParts !== undefined) throw unsupportedContent('auto', part);
    throw new PlatformError('invalid_model', {
      message: `No model in the tiers of the plan (${tiers.join(', ')}) is available for this request.`,
    });
  }
  const chain = [...choice.chain, ...fallbacks(order, access)].filter(({ id }) => parts.mayAsk(id));
  const { targets } = planTargets([...new Set(chain)], keyring, ({ tier }) => tiers.includes(tier));
  return { plan: { targets, mayEnlarge: true }, routing: choice.routing, tierRefusalOf: () => undefined };
}

function unknownModel(
  problem: 'invalid_model' | 'invalid_provider',
  order: CallOrder,
  keyring: Keyring,
  { catalogue, providers }: VendorAccess,
): PlatformError {
  const { model, provider, limits, request } = order;
  if (problem === 'invalid_provider') {
    return new PlatformError(problem, {
      message: `There is no provider ${shown(provider ?? '')}.${didYouMean(provider ?? '', providers)}`,
      details: { field: 'provider', issue: 'not supported' },
    });
  }
  const found = provider === undefined ? undefined : catalogue.resolve(model);
  const message =
    provider !== undefined && found !== undefined && 'model' in found
      ? `The provider ${provider} has no model ${shown(model)}: it is one of ${found.model.vendor}. Leave the provider out.`
      : `There is no model ${shown(model)}.${modelsMeant(model, catalogue, keyring, limits, kindOf(request))}`;
  return new PlatformError(problem, { message, details: { field: 'model', issue: 'not found' } });
}

function canRead({ capabilities }: CatalogueModel, { request }: CallOrder): boolean {
  return unreadablePart(request, capabilities) === undefined;
}

function canServe(model: CatalogueModel, order: CallOrder): boolean {
  return canRead(model, order) && honouredBy(order.request, model).refused === undefined;
}

/**
 * The vendor has nothing like the field, and the answer would not be the one that was asked for; or it has, but the
 * books or the limits of the caller would not hold.
 */
function cannotHonour({ path, reason }: RefusedField, { id, vendor }: CatalogueModel): PlatformError {
  const { message, issue } = {
    unknown: {
      message: `the vendor ${vendor} of the model ${id} has nothing like it. Leave it out, or choose a model of a vendor that has it.`,
      issue: `is not supported by ${vendor}`,
    },
    price: {
      message: `the model ${id} has no price for what it asks for. Leave it out, or ask the operator for the price, under service_tiers of the model in TROUPE_MODELS_FILE.`,
      issue: 'has no price',
    },
    model: {
      message: `the vendor ${vendor} could answer with another model than ${id}, for which neither its price nor the models of the plan and of the key hold. Leave it out, and name the model that is meant, or auto.`,
      issue: 'chooses another model',
    },
  }[reason];
  return new PlatformError('validation_error', {
    message: `${shown(path)}: ${message}`,
    details: { field: shown(path), issue, model: id },
  });
}

function unavailable(model: string): PlatformError {
  return new PlatformError('invalid_model', {
    message: `The model ${model} is not available: there is no key for its vendor. Add one as a secret of kind llm_key.`,
    details: { field: 'model', issue: 'not available' },
  });
}

function outsideTiers({ id, tier }: CatalogueModel, { limits }: CallOrder): PlatformError {
  return new PlatformError('MODEL_TIER_RESTRICTED', {
    message: `The model ${id} is of the tier ${tier}, which the plan ${limits.plan} does not include. Choose a model of ${modelTiersOf(limits.plan).join(' or ')}, or add a key of your own that the vendor accepts.`,
    details: { model: id, tier, plan: limits.plan, allowed_tiers: modelTiersOf(limits.plan) },
  });
}

function shown(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 99)}…`;
}
