import type { z } from 'zod';
import type { ConfigurationRow, SummaryRow } from './configurations.store.js';
import type { configurationDetail, configurationSummary } from './shapes.js';

export function summaryOf(row: SummaryRow, includeDeleted: boolean): z.input<typeof configurationSummary> {
  const { id, name, is_primary, is_active, created_at, deleted_at } = row;
  return {
    id,
    name,
    provider: 'postgresql',
    is_primary,
    is_active,
    created_at: created_at.toISOString(),
    ...(includeDeleted ? { deleted_at: deleted_at?.toISOString() ?? null } : {}),
  };
}

/** Everything but the password. */
export function detailOf(row: ConfigurationRow): z.input<typeof configurationDetail> {
  const { host, port, database_name: database, username, ssl, secret_name, secret_id } = row;
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    provider: 'postgresql',
    connection_config: {
      host,
      port,
      database,
      username,
      ssl,
      ...(secret_name === null ? {} : { password_secret_ref: secret_name }),
      ...(secret_id === null ? {} : { vault_secret_id: secret_id }),
    },
    settings: row.allowed_tables === null ? {} : { allowed_tables: row.allowed_tables },
    is_primary: row.is_primary,
    is_active: row.is_active,
    schema: row.schema_read,
    last_refresh: row.schema_read_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
