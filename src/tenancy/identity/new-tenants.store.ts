import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** Counts one more and answers how many there are now. Until the transaction ends nobody else counts for the subject. */
export function addNewTenant(tx: DirectoryTransaction, subject: Buffer, day: string): Promise<number> {
  return tx.oneFirst(
    sql.typeAlias('count')`
      insert into new_tenants_by_address as counted (subject, day, made)
      values (${sql.binary(subject)}, ${day}::date, 1)
      on conflict (subject, day) do update set made = counted.made + 1
      returning made as count`,
  );
}

export async function sweepNewTenants(tx: DirectoryTransaction, beforeDay: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`delete from new_tenants_by_address where day < ${beforeDay}::date`);
}

/** Locked, so that of two tenants that a user makes at once the second sees the first. */
export async function lockUser(tx: DirectoryTransaction, userId: string): Promise<void> {
  await tx.query(sql.unsafe`select 1 from users where id = ${userId} for no key update`);
}

/** Tenants that the user owns, or made and gave to somebody else. */
export function tenantsThatCountFor(tx: DirectoryTransaction, userId: string): Promise<number> {
  return tx.oneFirst(
    sql.typeAlias('count')`
      select count(*) as count from (
        select tenant_id from memberships where user_id = ${userId} and role = 'owner'
        union
        select id from tenants where made_by = ${userId}
      ) as counted`,
  );
}
