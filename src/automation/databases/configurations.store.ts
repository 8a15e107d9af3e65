import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Position } from '../../http/operations/index.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { databaseSchema, type DatabaseSchema } from './catalogue/read-schema.js';

const configurationRow = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string(),
  host: z.string(),
  port: z.number(),
  database_name: z.string(),
  username: z.string(),
  ssl: z.boolean(),
  secret_name: z.string().nullable(),
  secret_id: z.guid().nullable(),
  own_secret_id: z.uuid().nullable(),
  approved_for: z.string().nullable(),
  approved_place: z.string().nullable(),
  allowed_tables: z.array(z.string()).nullable(),
  is_primary: z.boolean(),
  is_active: z.boolean(),
  target_revision: z.number(),
  schema_read: databaseSchema.nullable(),
  schema_read_at: z.date().nullable(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
});
export type ConfigurationRow = z.output<typeof configurationRow>;

/** The columns that people write, and those derived from them. */
export type ConfigurationContent = Omit<
  ConfigurationRow,
  'id' | 'target_revision' | 'schema_read' | 'schema_read_at' | 'created_by' | 'created_at' | 'updated_at'
>;

const summaryRow = configurationRow
  .pick({ id: true, name: true, is_primary: true, is_active: true, created_at: true })
  .extend({ deleted_at: z.date().nullable() });
export type SummaryRow = z.output<typeof summaryRow>;

const columns = sql.fragment`
  d.id, d.name, d.description, d.host, d.port, d.database_name, d.username, d.ssl, d.secret_name, d.secret_id,
  d.own_secret_id, d.approved_for, d.approved_place, d.allowed_tables, d.is_primary, d.is_active, d.target_revision,
  d.schema_read, d.schema_read_at, d.created_by, d.created_at, d.updated_at`;

const moment = (at: Date) => sql.fragment`${at.toISOString()}::timestamptz`;
const texts = (all: readonly string[] | null) => (all === null ? null : sql.array([...all], 'text'));

/**
 * Locks out other creations of configurations of this tenant, and changes of the primary one, until the transaction
 * ends.
 */
export async function holdConfigurations({ tenantId }: TenantScope, tx: TenantTransaction): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    select from pg_advisory_xact_lock(hashtextextended('database configurations ' || ${tenantId}, 0))`);
}

export function countConfigurations({ tenantId }: TenantScope, tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from database_configs where tenant_id = ${tenantId} and deleted_at is null`);
}

export function findConfiguration(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<ConfigurationRow | null> {
  return tx.maybeOne(sql.type(configurationRow)`
    select ${columns} from database_configs d
    where d.tenant_id = ${tenantId} and d.id = ${id} and d.deleted_at is null`);
}

/** The time of the last change to any part of it; null if it does not exist. */
export function findChange(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<Date | null> {
  return tx.maybeOneFirst(sql.type(z.object({ updated_at: z.date() }))`
    select updated_at from database_configs
    where tenant_id = ${tenantId} and id = ${id} and deleted_at is null`);
}

/** Locks the configuration until the transaction ends. */
export function lockConfiguration(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<ConfigurationRow | null> {
  return tx.maybeOne(sql.type(configurationRow)`
    select ${columns} from database_configs d
    where d.tenant_id = ${tenantId} and d.id = ${id} and d.deleted_at is null for update`);
}

/** Newest first. */
export function listConfigurations(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  filter: {
    readonly includeDeleted: boolean;
    readonly activeOnly: boolean;
    readonly behind: Position | undefined;
    readonly limit: number | undefined;
  },
): Promise<readonly SummaryRow[]> {
  const { behind } = filter;
  const conditions = [
    sql.fragment`d.tenant_id = ${tenantId}`,
    ...(filter.includeDeleted ? [] : [sql.fragment`d.deleted_at is null`]),
    ...(filter.activeOnly ? [sql.fragment`d.is_active`] : []),
    ...(behind === undefined
      ? []
      : [sql.fragment`(d.created_at, d.id) < (${moment(behind.at)}, ${behind.id}::uuid)`]),
  ];
  return tx.any(sql.type(summaryRow)`
    select d.id, d.name, d.is_primary, d.is_active, d.created_at, d.deleted_at from database_configs d
    where ${sql.join(conditions, sql.fragment` and `)}
    order by d.created_at desc, d.id desc
    limit ${filter.limit ?? null}`);
}

export function insertConfiguration(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  made: {
    readonly id: string;
    readonly by: string;
    readonly at: Date;
    readonly content: ConfigurationContent;
  },
): Promise<ConfigurationRow> {
  const { content } = made;
  return tx.one(sql.type(configurationRow)`
    insert into database_configs as d (tenant_id, id, name, description, host, port, database_name, username, ssl,
      secret_name, secret_id, own_secret_id, approved_for, approved_place, allowed_tables, is_primary, is_active,
      created_by, created_at, updated_at)
    values (${tenantId}, ${made.id}, ${content.name}, ${content.description}, ${content.host}, ${content.port},
      ${content.database_name}, ${content.username}, ${content.ssl}, ${content.secret_name}, ${content.secret_id},
      ${content.own_secret_id}, ${content.approved_for}, ${content.approved_place}, ${texts(content.allowed_tables)},
      ${content.is_primary}, ${content.is_active},
      ${made.by}, ${moment(made.at)}, ${moment(made.at)})
    returning ${columns}`);
}

/** `stale`: the stored schema belongs to another database, or to other tables, and is deleted. */
export function updateConfiguration(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  change: { readonly content: ConfigurationContent; readonly at: Date; readonly stale: boolean },
): Promise<ConfigurationRow> {
  const { content, stale } = change;
  const withoutSchema = sql.fragment`,
    target_revision = d.target_revision + 1, schema_read = null, schema_read_at = null`;
  return tx.one(sql.type(configurationRow)`
    update database_configs d set name = ${content.name}, description = ${content.description},
      host = ${content.host}, port = ${content.port}, database_name = ${content.database_name},
      username = ${content.username}, ssl = ${content.ssl}, secret_name = ${content.secret_name},
      secret_id = ${content.secret_id}, own_secret_id = ${content.own_secret_id},
      approved_for = ${content.approved_for}, approved_place = ${content.approved_place},
      allowed_tables = ${texts(content.allowed_tables)}, is_primary = ${content.is_primary},
      is_active = ${content.is_active}, updated_at = ${moment(change.at)}
      ${stale ? withoutSchema : sql.fragment``}
    where d.tenant_id = ${tenantId} and d.id = ${id}
    returning ${columns}`);
}

/** Must run before another configuration becomes primary. */
export async function demotePrimary(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  exceptId: string,
  at: Date,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update database_configs set is_primary = false, updated_at = ${moment(at)}
    where tenant_id = ${tenantId} and is_primary and id <> ${exceptId}`);
}

export async function markDeleted(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  at: Date,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update database_configs set deleted_at = ${moment(at)}, updated_at = ${moment(at)},
      is_primary = false, is_active = false, schema_read = null, schema_read_at = null,
      secret_name = null, secret_id = null, own_secret_id = null, approved_for = null,
      approved_place = null
    where tenant_id = ${tenantId} and id = ${id}`);
}

/** Keeps only the latest deleted configurations. */
export async function eraseOldDeleted(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  keep: number,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from database_configs where tenant_id = ${tenantId} and id in (
      select id from database_configs where tenant_id = ${tenantId} and deleted_at is not null
      order by deleted_at desc, id desc offset ${keep})`);
}

/** Returns false if the schema that was read no longer belongs to the current database and tables. */
export function storeSchema(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  read: {
    readonly id: string;
    readonly revision: number;
    readonly schema: DatabaseSchema;
    readonly at: Date;
  },
): Promise<boolean> {
  return tx
    .query(sql.type(z.object({ id: z.uuid() }))`
      update database_configs set schema_read = ${JSON.stringify(read.schema)}::jsonb,
        schema_read_at = ${moment(read.at)}
      where tenant_id = ${tenantId} and id = ${read.id} and target_revision = ${read.revision}
        and deleted_at is null
      returning id`)
    .then(({ rowCount }) => rowCount === 1);
}
