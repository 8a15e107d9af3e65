import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

const masterKeyRow = z.object({ id: z.string(), active: z.boolean(), data_keys: z.number() });
export type MasterKeyRow = z.output<typeof masterKeyRow>;

const wrappedKeyRow = z.object({
  tenant_id: z.string(),
  id: z.string(),
  wrapped: z.instanceof(Buffer),
  wrapped_by: z.string(),
});
export type WrappedKeyRow = z.output<typeof wrappedKeyRow>;

/** Makes the key active in an empty vault. Of several nodes at once the first one wins. */
export async function adoptFirstMasterKey(tx: DirectoryTransaction, id: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into vault_master_keys (id, active)
    select ${id}, true where not exists (select from vault_master_keys) on conflict do nothing`);
}

/** The master keys that are still needed, the active one first, each with its number of data keys. */
export function listMasterKeys(tx: DirectoryTransaction): Promise<readonly MasterKeyRow[]> {
  return tx.any(sql.type(masterKeyRow)`
    select id, active, (select count(*) from vault_data_keys d where d.wrapped_by = m.id) as data_keys
    from vault_master_keys m where retired_at is null order by active desc, first_seen_at`);
}

/** The fingerprints of the same keys, for a transaction that is not the store's: that of a backup. */
export const neededMasterKeys = `
  select id from vault_master_keys m
  where active or (retired_at is null and exists (select from vault_data_keys d where d.wrapped_by = m.id))
  order by active desc, first_seen_at`;

/** Waits for transactions that wrap a new data key with the key that was active until now. */
export async function activateMasterKey(tx: DirectoryTransaction, id: string): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`update vault_master_keys set active = false where active and id <> ${id}`,
  );
  await tx.query(sql.typeAlias('nothing')`
    insert into vault_master_keys (id, active) values (${id}, true)
    on conflict (id) do update set active = true, retired_at = null`);
}

/** Whether the key is active; it stays active until the transaction ends. */
export async function holdIfActive(tx: DirectoryTransaction, id: string): Promise<boolean> {
  const row = await tx.maybeOne(
    sql.type(z.object({ id: z.string() }))`
      select id from vault_master_keys where active and id = ${id} for share`,
  );
  return row !== null;
}

/** Locks rows in a fixed order, so that two rotations cannot deadlock. */
export function holdWrappedByOthers(
  tx: DirectoryTransaction,
  masterKeyId: string,
  limit: number,
): Promise<readonly WrappedKeyRow[]> {
  return tx.any(sql.type(wrappedKeyRow)`
    select tenant_id, id, wrapped, wrapped_by from vault_data_keys
    where wrapped_by <> ${masterKeyId} order by tenant_id, id limit ${limit} for update`);
}

export async function replaceWrapping(tx: DirectoryTransaction, row: WrappedKeyRow): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update vault_data_keys set wrapped = ${sql.binary(row.wrapped)}, wrapped_by = ${row.wrapped_by}
    where tenant_id = ${row.tenant_id} and id = ${row.id}`);
}

/** Marks the keys that no longer wrap a data key. */
export async function retireUnusedMasterKeys(tx: DirectoryTransaction): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update vault_master_keys m set retired_at = now()
    where not active and retired_at is null
      and not exists (select from vault_data_keys d where d.wrapped_by = m.id)`);
}
