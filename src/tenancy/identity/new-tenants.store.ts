import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** Adds one and returns the count. Locks the subject's count until the transaction ends. */
export function addNewTenant(tx: DirectoryTransaction, subject: Buffer, day: string): Promise<number> {
  return tx.oneFirst(
    sql.typeAlias('count')`
      insert into new_tenants_by_address as counted (subject, day, made)
      values (${sql.binary(subject)}, ${day}::date, 1)
      on conflict (subject, day) do update set made = counted.made + 1
      returning made as count`,
  );
}

/** By the clock of PostgreSQL: a node whose clock is ahead would open the bound of today. */
export async function sweepNewTenants(tx: DirectoryTransaction): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from new_tenants_by_address where day < (now() at time zone 'UTC')::date`,
  );
}

/** Locks the user, so that of two concurrent requests for a new tenant the second sees the first. */
export async function lockUser(tx: DirectoryTransaction, userId: string): Promise<void> {
  await tx.query(sql.unsafe`select 1 from users where id = ${userId} for no key update`);
}

/** Tenants that the user owns, or made and handed over. */
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
