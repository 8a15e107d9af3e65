import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type Store } from '../../infra/storage/index.js';
import type { FindMember, Member } from './sender-access.js';

const memberRow = z.object({ user_id: z.uuid() });

/** Finds members of the tenant's team by a sender's identity. */
export function memberFinder(store: Pick<Store, 'inTenant'>, scope: TenantScope): FindMember {
  return async (column, value): Promise<Member | undefined> => {
    const matches = {
      email: sql.fragment`lower(u.email) = ${value}`,
      external_id: sql.fragment`m.external_id = ${value}`,
      // The directory stores phone numbers as people typed them.
      phone: sql.fragment`'+' || regexp_replace(m.phone, '\\D', '', 'g') = ${value}`,
    }[column];
    const row = await store.inTenant(scope, (tx) =>
      tx.maybeOne(sql.type(memberRow)`
        select m.user_id from memberships m join users u on u.id = m.user_id
        where m.tenant_id = ${scope.tenantId} and ${matches} order by m.created_at limit 1`),
    );
    return row === null ? undefined : { userId: row.user_id };
  };
}
