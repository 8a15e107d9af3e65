import { PlatformError } from '../../kernel/errors.js';
import { limitsOf } from '../../kernel/plans/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import { findPlan, type PlanOfTenant } from '../identity/index.js';

export async function tenantOf(tx: TenantTransaction): Promise<PlanOfTenant> {
  const tenant = await findPlan(tx);
  if (tenant === null) throw new PlatformError('tenant_not_found');
  return tenant;
}

export function rateMaxOf({ plan, settings }: PlanOfTenant): number {
  return limitsOf(plan, settings).keyRpmMax;
}

export function withinPlan(rpm: number, max: number): number {
  if (rpm <= max) return rpm;
  throw new PlatformError('plan_limit_exceeded', {
    message: `The plan allows a key at most ${max} requests per minute. Choose a lower value, or change the plan.`,
    details: { limit: max, requested: rpm },
  });
}
