import type { CatalogueModel } from '../catalogue/model.js';
import type { RequestSigner } from '../vendor.js';

/** A key to a vendor, and the payer of its calls. */
export interface Credential {
  /** Changes with the secret, so that observations of the old secret do not apply to the new one. */
  readonly id: string;
  readonly vendor: string;
  readonly payer: 'platform' | 'tenant';
  /** In the format of the vendor's own SDK. */
  readonly baseUrl: string;
  /** A function, so that no printed value shows the secret; undefined for servers that need none. */
  readonly reveal: () => string | undefined;
  /** Where the operator wrote the key, for the log. */
  readonly place?: string;
  /** Signs each request, for vendors to which no fixed header is enough. */
  readonly signer?: RequestSigner;
}

export interface Target {
  readonly model: CatalogueModel;
  readonly credential: Credential;
}

/** The targets of a call, in order. */
export interface CallPlan {
  readonly targets: readonly Target[];
  /** A prompt that is too long may go to a model with a larger window; only if the caller named no model. */
  readonly mayEnlarge: boolean;
}

export interface Keyring {
  /** The tenant's own key for this vendor, if it has one. */
  readonly tenant: (vendor: string) => Credential | undefined;
  /** The platform's credentials for this vendor, in the order in which they are to be tried. */
  readonly platform: (vendor: string) => readonly Credential[];
}

/**
 * The targets for a chain of models. The tenant's own key comes first and is not bound by tiers; the platform's follows
 * if the plan allows the model. `tierBarred` says that the tier excluded a platform key, so that a refused own key can
 * end with the right error.
 */
export function planTargets(
  chain: readonly CatalogueModel[],
  keyring: Keyring,
  tierAllowed: (model: CatalogueModel) => boolean,
): { readonly targets: readonly Target[]; readonly tierBarred: boolean } {
  const targets: Target[] = [];
  let tierBarred = false;
  for (const model of chain) {
    const own = keyring.tenant(model.vendor);
    if (own !== undefined) targets.push({ model, credential: own });
    const platform = keyring.platform(model.vendor);
    if (platform.length > 0 && !tierAllowed(model)) tierBarred = true;
    else for (const credential of platform) targets.push({ model, credential });
  }
  return { targets, tierBarred };
}
