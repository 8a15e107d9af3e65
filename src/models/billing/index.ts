// The public interface of billing: the plan of a tenant, and what its model calls cost.
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { namesOfUsers } from '../../tenancy/identity/index.js';
import { namesOfKeys } from '../../tenancy/keys/index.js';
import type { Names } from './labels.js';
import { billingOperations } from './operations.js';

export function createBilling(
  { store, time }: Pick<Platform, 'store' | 'time'>,
  { agentNames }: { readonly agentNames: Names['agent'] },
): { readonly operations: readonly Operation[] } {
  const names: Names = {
    agent: agentNames,
    key: (scope, ids) => store.inTenant(scope, (tx) => namesOfKeys(tx, ids)),
    // A user who left the tenant is named too: only the directory sees that user.
    user: (_scope, ids) => store.directory((tx) => namesOfUsers(tx, ids)),
  };
  return { operations: billingOperations({ store, time, names }) };
}
