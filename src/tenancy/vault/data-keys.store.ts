import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const dataKeyRow = z.object({ id: z.string(), wrapped: z.instanceof(Buffer), wrapped_by: z.string() });
export type DataKeyRow = z.output<typeof dataKeyRow>;

export function findDataKey(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<DataKeyRow | null> {
  return tx.maybeOne(sql.type(dataKeyRow)`
    select id, wrapped, wrapped_by from vault_data_keys where tenant_id = ${tenantId} and id = ${id}`);
}

/** The key that seals new values. It stays current until the transaction ends. */
export function holdCurrentDataKey(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
): Promise<DataKeyRow | null> {
  return tx.maybeOne(sql.type(dataKeyRow)`
    select id, wrapped, wrapped_by from vault_data_keys
    where tenant_id = ${tenantId} and retired_at is null for share`);
}

/** Does nothing if the tenant already has a current key. */
export async function insertDataKey(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: DataKeyRow,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into vault_data_keys (tenant_id, id, wrapped, wrapped_by)
    values (${tenantId}, ${row.id}, ${sql.binary(row.wrapped)}, ${row.wrapped_by})
    on conflict (tenant_id) where retired_at is null do nothing`);
}

export async function retireCurrentDataKey({ tenantId }: TenantScope, tx: TenantTransaction): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update vault_data_keys set retired_at = now() where tenant_id = ${tenantId} and retired_at is null`);
}

export async function holdActiveMasterKey(tx: TenantTransaction): Promise<string | null> {
  const row = await tx.one(
    sql.type(z.object({ id: z.string().nullable() }))`select vault_active_master_key() as id`,
  );
  return row.id;
}

/** With all that they sealed. What nodes or copies of the database still hold sealed opens nowhere after this. */
export async function destroyDataKeys({ tenantId }: TenantScope, tx: TenantTransaction): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`delete from secret_versions where tenant_id = ${tenantId}`);
  await tx.query(sql.typeAlias('nothing')`delete from vault_data_keys where tenant_id = ${tenantId}`);
}
