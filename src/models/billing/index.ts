// The public interface of billing: the plan of a tenant, and what its model calls cost.
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { billingOperations } from './operations.js';

export function createBilling(platform: Pick<Platform, 'store' | 'time'>): {
  readonly operations: readonly Operation[];
} {
  return { operations: billingOperations(platform) };
}
