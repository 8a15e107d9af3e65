import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import { findMemberBy } from '../../tenancy/identity/index.js';
import type { FindMember, Member } from './sender-access.js';

/** Finds members of the tenant's team by a sender's identity. */
export function memberFinder(store: Pick<Store, 'inTenant'>, scope: TenantScope): FindMember {
  return async (column, value): Promise<Member | undefined> => {
    const userId = await store.inTenant(scope, (tx) => findMemberBy(tx, column, value));
    return userId === undefined ? undefined : { userId };
  };
}
