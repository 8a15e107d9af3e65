// The public interface of billing: the plan of a tenant, and what its model calls cost.
import type { Time } from '../../../cluster/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { billingOperations } from './operations.js';

export interface BillingParts {
  readonly store: Store;
  readonly time: Time;
}

export function createBilling(parts: BillingParts): { readonly operations: readonly Operation[] } {
  return { operations: billingOperations(parts) };
}
