// Collects facts about a database for `troupe doctor`: read only, on its own connection.
import pg from 'pg';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { toStoreError } from './errors.js';
import { MigrationError } from './migration-error.js';
import { migrationsDirectory, readMigrationFiles } from './migration-files.js';
import { lastNumber, pendingFiles, readRecordedFiles } from './migration-plan.js';

export interface DatabaseFacts {
  /** 180004 is 18.4. */
  readonly versionNumber: number;
  readonly version: string;
  readonly mayCreateRoles: boolean;
  /** The highest migration that the database has had; 0 if none. */
  readonly schema: number;
  /** The highest migration of this program. */
  readonly ownSchema: number;
  /** Migration files of this program that have not been applied. */
  readonly pendingMigrations: readonly string[];
  /** Why a node refuses to migrate the database; undefined when it does not. */
  readonly migrationProblem: string | undefined;
  readonly durableCommits: boolean;
  readonly synchronousStandbys: boolean;
  /** The offset of the database's clock from this machine's. */
  readonly clockAheadMs: number;
  /** What `ids` selects; undefined if its tables are not there yet. */
  readonly ids: readonly string[] | undefined;
}

const facts = z.object({
  version_number: z.coerce.number(),
  version: z.string(),
  may_create_roles: z.boolean(),
  fsync: z.string(),
  synchronous_commit: z.string(),
  standbys: z.string(),
  now_ms: z.coerce.number(),
});

/** `ids`: a query of one column `id`. */
export async function examineDatabase(databaseUrl: string, time: Time, ids?: string): Promise<DatabaseFacts> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  });
  // If the connection breaks between two queries, the next query reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const result = await client.query(`
      select current_setting('server_version_num') as version_number, current_setting('server_version') as version,
             (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may_create_roles,
             current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
             current_setting('synchronous_standby_names') as standbys,
             extract(epoch from clock_timestamp()) * 1000 as now_ms`);
    const row = facts.parse(result.rows[0]);
    return {
      versionNumber: row.version_number,
      version: row.version,
      mayCreateRoles: row.may_create_roles,
      ...(await examineMigrations(client)),
      durableCommits: row.fsync === 'on' && row.synchronous_commit !== 'off',
      synchronousStandbys: row.standbys !== '',
      clockAheadMs: row.now_ms - time.wallMs(),
      ids: ids === undefined ? undefined : await idsOf(client, ids),
    };
  } catch (error) {
    throw toStoreError(error, 'Examining the database');
  } finally {
    await client.end();
  }
}

const idRow = z.object({ id: z.string() });
const undefinedTable = '42P01';

async function idsOf(client: pg.Client, query: string): Promise<readonly string[] | undefined> {
  try {
    return (await client.query(query)).rows.map((row) => idRow.parse(row).id);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === undefinedTable) return undefined;
    throw error;
  }
}

async function examineMigrations(
  client: pg.Client,
): Promise<Pick<DatabaseFacts, 'schema' | 'ownSchema' | 'pendingMigrations' | 'migrationProblem'>> {
  const files = await readMigrationFiles(migrationsDirectory);
  const recorded = await readRecordedFiles(client);
  const versions = { schema: recorded.numbered.at(-1)?.number ?? 0, ownSchema: lastNumber(files.numbered) };
  try {
    const pending = pendingFiles(files, recorded, { acceptNewer: true });
    const names = [...pending.numbered, ...pending.functions].map(({ name }) => name);
    return { ...versions, pendingMigrations: names, migrationProblem: undefined };
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { ...versions, pendingMigrations: [], migrationProblem: error.message };
  }
}
