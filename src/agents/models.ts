import type { TenantLimits } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { Author } from './author.js';
import type { AgentDocument } from './document.js';
import type { Issue } from './issues.js';

/** Checks models for a tenant: whether the model exists, and whether the tenant's plan or own key allows it. */
export interface ModelChecks {
  /** Whether the model exists, regardless of who may use it. */
  isKnown(model: string, limits: TenantLimits): boolean;
  /** ` Did you mean …?` with models that the tenant can call, or nothing. */
  suggestionFor(scope: TenantScope, limits: TenantLimits, model: string): string | Promise<string>;
  /** Undefined if the model is usable. */
  faultOf(
    scope: TenantScope,
    limits: TenantLimits,
    model: string,
  ): string | undefined | Promise<string | undefined>;
}

/** Models that do not exist. No plan and no key can make them answer, so they prevent publication. */
export async function unknownModels(
  models: ModelChecks,
  { scope, limits }: Pick<Author, 'scope' | 'limits'>,
  document: AgentDocument,
): Promise<readonly Issue[]> {
  const unknown = modelsOf(document).filter(({ name }) => !models.isKnown(name, limits));
  return Promise.all(
    unknown.map(async ({ field, name }) => {
      const meant = await models.suggestionFor(scope, limits, name);
      return issueOf(field, `the model ${name} does not exist${meant === '' ? '' : `.${meant}`}`);
    }),
  );
}

/**
 * Other faults of an agent's models. They do not prevent publication: a plan or a key can change any day, and each
 * turn is checked anew.
 */
export async function modelWarnings(
  models: ModelChecks,
  scope: TenantScope,
  limits: TenantLimits,
  document: AgentDocument,
): Promise<readonly Issue[]> {
  const found = await Promise.all(
    modelsOf(document)
      .filter(({ name }) => models.isKnown(name, limits))
      .map(async ({ field, name }) => ({ field, issue: await models.faultOf(scope, limits, name) })),
  );
  return found.flatMap(({ field, issue }) => (issue === undefined ? [] : [issueOf(field, issue)]));
}

function modelsOf({ llm_config: { model, fallback_models = [] } }: AgentDocument) {
  return [
    { field: 'llm_config.model', name: model },
    ...fallback_models.map((name, index) => ({ field: `llm_config.fallback_models.${index}`, name })),
  ].filter(({ name }) => name !== 'auto');
}

function issueOf(field: string, issue: string): Issue {
  return { schemaId: null, schema: null, field, issue };
}
