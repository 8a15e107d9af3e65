import type { TenantLimits } from '../context/caller.js';
import type { TenantScope } from '../context/tenant-scope.js';
import type { AgentDocument } from './document.js';
import type { Issue } from './issues.js';

/** Judges models for a tenant: is there such a model, and may the tenant's plan or its own key use it. */
export interface ModelJudge {
  /** Undefined for a model that would be served. */
  faultOf(
    scope: TenantScope,
    limits: TenantLimits,
    model: string,
  ): string | undefined | Promise<string | undefined>;
}

/**
 * What is wrong with an agent's models. None of it keeps the agent from being published: a plan or a key can change
 * any day, and each turn is judged anew.
 */
export async function modelWarnings(
  judge: ModelJudge,
  scope: TenantScope,
  limits: TenantLimits,
  { llm_config: { model, fallback_models = [] } }: AgentDocument,
): Promise<readonly Issue[]> {
  const named = [
    ['llm_config.model', model] as const,
    ...fallback_models.map((name, index) => [`llm_config.fallback_models.${index}`, name] as const),
  ];
  const found = await Promise.all(
    named
      .filter(([, name]) => name !== 'auto')
      .map(async ([field, name]) => ({ field, issue: await judge.faultOf(scope, limits, name) })),
  );
  return found.flatMap(({ field, issue }) =>
    issue === undefined ? [] : [{ schemaId: null, schema: null, field, issue }],
  );
}
