import type { TenantLimits } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { AgentDocument } from './document.js';
import type { Issue } from './issues.js';

/** Judges models for a tenant: is there such a model, and may the tenant's plan or its own key use it. */
export interface ModelJudge {
  /** Whether there is such a model, whoever may use it. */
  isKnown(model: string): boolean;
  /** Undefined for a model that would be served. */
  faultOf(
    scope: TenantScope,
    limits: TenantLimits,
    model: string,
  ): string | undefined | Promise<string | undefined>;
}

/** Models that nobody knows: no plan and no key will make them answer, so the agent is not published with them. */
export function unknownModels(judge: ModelJudge, document: AgentDocument): readonly Issue[] {
  return modelsOf(document)
    .filter(({ name }) => !judge.isKnown(name))
    .map(({ field, name }) => issueOf(field, `there is no model ${name}`));
}

/**
 * What is wrong with an agent's models otherwise. None of it keeps the agent from being published: a plan or a key can
 * change any day, and each turn is judged anew.
 */
export async function modelWarnings(
  judge: ModelJudge,
  scope: TenantScope,
  limits: TenantLimits,
  document: AgentDocument,
): Promise<readonly Issue[]> {
  const found = await Promise.all(
    modelsOf(document)
      .filter(({ name }) => judge.isKnown(name))
      .map(async ({ field, name }) => ({ field, issue: await judge.faultOf(scope, limits, name) })),
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
