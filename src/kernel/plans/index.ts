import { z } from 'zod';
import { budgetShape } from '../budget.js';
import { modelAliases } from '../model-aliases.js';
import type { Plan, TenantLimits } from '../caller.js';

export type ModelTier = 'economical' | 'premium' | 'flagship';

export const plans = ['free', 'basic', 'pro', 'enterprise'] as const satisfies readonly Plan[];

interface PlanFigures {
  readonly keyRpmMax: number;
  readonly requestsPerMinute: number;
  readonly requestsPerDay: number;
  readonly monthlyTokens: number;
  readonly modelTiers: readonly ModelTier[];
}

const figures: Record<Plan, PlanFigures> = {
  free: {
    keyRpmMax: 10,
    requestsPerMinute: 10,
    requestsPerDay: 100,
    monthlyTokens: 100_000,
    modelTiers: ['economical'],
  },
  basic: {
    keyRpmMax: 50,
    requestsPerMinute: 60,
    requestsPerDay: 5_000,
    monthlyTokens: 5_000_000,
    modelTiers: ['economical', 'premium'],
  },
  pro: {
    keyRpmMax: 200,
    requestsPerMinute: 300,
    requestsPerDay: 50_000,
    monthlyTokens: 50_000_000,
    modelTiers: ['economical', 'premium', 'flagship'],
  },
  enterprise: {
    keyRpmMax: 1_000,
    requestsPerMinute: 10_000,
    requestsPerDay: 10_000_000,
    monthlyTokens: 1_000_000_000,
    modelTiers: ['economical', 'premium', 'flagship'],
  },
};

/** Limits that an operator may set for one tenant instead of those of its plan; stored in `tenants.settings`. */
export const tenantSettings = z.object({
  requests_per_minute: z.int().min(1).max(1_000_000).optional(),
  requests_per_day: z.int().min(1).max(1_000_000_000).optional(),
  monthly_tokens: z.int().min(0).max(1_000_000_000_000).optional(),
  key_rpm_max: z.int().min(1).max(1_000_000_000).optional(),
  /** Set by the tenant itself. */
  budget: budgetShape.optional(),
  /** Set by the tenant itself. */
  model_aliases: modelAliases.optional(),
});

export type TenantSettings = z.output<typeof tenantSettings>;

/** The limits of the plan, replaced by the tenant's own where set. */
export function limitsOf(plan: Plan, settings: TenantSettings): TenantLimits {
  const base = figures[plan];
  return {
    plan,
    requestsPerMinute: settings.requests_per_minute ?? base.requestsPerMinute,
    requestsPerDay: settings.requests_per_day ?? base.requestsPerDay,
    monthlyTokens: settings.monthly_tokens ?? base.monthlyTokens,
    keyRpmMax: settings.key_rpm_max ?? base.keyRpmMax,
    ...(settings.budget !== undefined && { budget: settings.budget }),
    ...(settings.model_aliases !== undefined && { modelAliases: settings.model_aliases }),
  };
}

export function modelTiersOf(plan: Plan): readonly ModelTier[] {
  return figures[plan].modelTiers;
}
