import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { modelMeantBy } from '../../kernel/model-aliases.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Catalogue } from '../../llm/index.js';
import { callSources } from './call-order.js';
import type { ModelCalls } from './model-calls.js';

/** Checks a model before a call of it is made. */
export class ModelPreflight {
  readonly #catalogue: Catalogue;
  readonly #calls: Pick<ModelCalls, 'preflight' | 'modelsMeant'>;

  constructor(catalogue: Catalogue, calls: Pick<ModelCalls, 'preflight' | 'modelsMeant'>) {
    this.#catalogue = catalogue;
    this.#calls = calls;
  }

  /** Whether the model exists, regardless of who may use it. */
  isKnown(given: string, limits: TenantLimits): boolean {
    const model = modelMeantBy(limits, given);
    return model === 'auto' || 'model' in this.#catalogue.resolve(model);
  }

  /** ` Did you mean …?` with models that the tenant can call, or nothing. */
  suggestionFor(scope: TenantScope, limits: TenantLimits, model: string): Promise<string> {
    return this.#calls.modelsMeant(scope, limits, model, 'chat');
  }

  /** The reason for which a call of the model would be refused with the tenant's current plan and keys. */
  async faultOf(scope: TenantScope, limits: TenantLimits, model: string): Promise<string | undefined> {
    try {
      await this.#calls.preflight({
        scope,
        limits,
        source: callSources.toolLoop,
        keyId: null,
        userId: null,
        model,
        request: { messages: [], stream: true },
        // Skips the check of the month's quota, which says nothing about the model.
        alreadyAdmitted: true,
        signal: new AbortController().signal,
      });
      return undefined;
    } catch (error) {
      if (error instanceof PlatformError) return error.message;
      throw error;
    }
  }
}
