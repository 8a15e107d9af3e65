// What `troupe doctor` wants to know of a database: read only, on one connection of its own.
import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { z } from 'zod';
import { toStoreError } from './errors.js';
import { migrationsDirectory } from './migrate.js';

export interface DatabaseFacts {
  /** 180004 is 18.4. */
  readonly versionNumber: number;
  readonly version: string;
  readonly mayCreateRoles: boolean;
  /** Files of this program that the database has not had yet. */
  readonly pendingMigrations: readonly string[];
  readonly durableCommits: boolean;
  readonly synchronousStandbys: boolean;
  /** How far the database's clock is from this machine's. */
  readonly clockAheadMs: number;
}

const facts = z.object({
  version_number: z.coerce.number(),
  version: z.string(),
  may_create_roles: z.boolean(),
  fsync: z.string(),
  synchronous_commit: z.string(),
  standbys: z.string(),
  now_ms: z.coerce.number(),
  migrations_table: z.string().nullable(),
});

export async function examineDatabase(databaseUrl: string): Promise<DatabaseFacts> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  });
  // A connection that breaks between two questions is seen by the next one.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const result = await client.query(`
      select current_setting('server_version_num') as version_number, current_setting('server_version') as version,
             (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may_create_roles,
             current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
             current_setting('synchronous_standby_names') as standbys,
             extract(epoch from clock_timestamp()) * 1000 as now_ms,
             to_regclass('schema_migrations')::text as migrations_table`);
    const row = facts.parse(result.rows[0]);
    return {
      versionNumber: row.version_number,
      version: row.version,
      mayCreateRoles: row.may_create_roles,
      pendingMigrations: await pending(client, row.migrations_table !== null),
      durableCommits: row.fsync === 'on' && row.synchronous_commit !== 'off',
      synchronousStandbys: row.standbys !== '',
      clockAheadMs: row.now_ms - Date.now(),
    };
  } catch (error) {
    throw toStoreError(error, 'Looking at the database');
  } finally {
    await client.end();
  }
}

async function pending(client: pg.Client, migrated: boolean): Promise<readonly string[]> {
  const files = (await readdir(migrationsDirectory)).filter((name) => name.endsWith('.sql'));
  if (!migrated) return files;
  const { rows } = await client.query('select name from schema_migrations');
  const applied = new Set(
    z
      .array(z.object({ name: z.string() }))
      .parse(rows)
      .map(({ name }) => name.replace(/\.sql$/, '')),
  );
  return files.filter((file) => !applied.has(file.replace(/\.sql$/, '')));
}
