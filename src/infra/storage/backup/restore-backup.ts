// Restores a backup into an empty database, in one transaction: it is there whole or not at all.
import { escapeIdentifier, escapeLiteral } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { migrate } from '../migrate.js';
import { migrationsDirectory, readMigrationFiles } from '../migration-files.js';
import { readRecordedFiles } from '../migration-plan.js';
import { backupRole } from '../roles.js';
import { type ForeignKey, readForeignKeys, readPartitions, readTables, type Table } from './catalogue.js';
import { BackupError } from './errors.js';
import { checkTable, readTable } from './files.js';
import { type Manifest, type PartitionEntry, readManifest, type TableEntry } from './manifest.js';
import { inTransaction, type OwnerSession } from './session.js';

/** A backup whose files were all read once and are those that were written. */
export interface CheckedBackup {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Reads the whole backup before anything is touched; refuses one of a later version or of another master key. */
export async function checkBackup(
  folder: string,
  accept: (masterKeys: readonly string[]) => void,
): Promise<CheckedBackup> {
  const manifest = await readManifest(folder);
  const { numbered } = await readMigrationFiles(migrationsDirectory);
  const last = lastMigration(manifest);
  const earlier = numbered.filter(({ number }) => number <= last);
  const difference = differenceOf(manifest.migrations, earlier);
  if (difference !== undefined) {
    throw new BackupError(
      'other-schema',
      `the backup in ${folder} was made by another version of Troupe (${difference}), which is not a former version ` +
        'of this one. Restore it with that version, then upgrade.',
    );
  }
  accept(manifest.master_keys);
  for (const table of manifest.tables) await checkTable(folder, table);
  return { folder, manifest };
}

function lastMigration({ migrations }: Manifest): number {
  return migrations.reduce((last, { number }) => Math.max(last, number), 0);
}

interface Migration {
  readonly name: string;
  readonly checksum: string;
}

function differenceOf(theirs: readonly Migration[], ours: readonly Migration[]): string | undefined {
  const known = new Map(ours.map(({ name, checksum }) => [name, checksum]));
  const other = theirs.find(({ name, checksum }) => known.get(name) !== checksum);
  if (other !== undefined) return `${known.has(other.name) ? 'another text of' : 'it has'} ${other.name}`;
  const missing = ours.find(({ name }) => theirs.every((one) => one.name !== name));
  return missing === undefined ? undefined : `it lacks ${missing.name}`;
}

export interface RestoreOptions {
  readonly databaseUrl: string;
  readonly backup: CheckedBackup;
  /** Tables that a migration itself fills. */
  readonly filledByMigrations: readonly string[];
  /** Selects the fingerprints of the master keys that the data needs, as `id`. */
  readonly masterKeys: string;
  /** Before the commit: throws if one of the keys is not at hand. */
  readonly accept: (masterKeys: readonly string[]) => void;
  readonly onTable: (table: TableEntry) => void | Promise<void>;
}

/**
 * The rows go into the tables of the version that made the backup; the migrations since then change both. If one of these
 * fails, the rows are there, and the next `migrate` goes on.
 */
export async function restoreBackup(options: RestoreOptions): Promise<void> {
  const { databaseUrl, backup } = options;
  await inTransaction(databaseUrl, { name: 'troupe_restore', begin: 'begin read only' }, async (session) =>
    refuseUsed(session, options),
  );
  await migrate({ databaseUrl, through: lastMigration(backup.manifest) });
  await inTransaction(databaseUrl, { name: 'troupe_restore', begin: 'begin' }, (session) =>
    loadAll(session, options),
  );
  await migrate({ databaseUrl });
  // The planner knows nothing of the new rows.
  await inTransaction(databaseUrl, { name: 'troupe_restore', begin: 'begin' }, async (session) => {
    for (const { name } of await readTables(session)) await session.run(`analyze ${escapeIdentifier(name)}`);
  });
}

/** Before the migrations, which would change a database that is in use. */
async function refuseUsed(session: OwnerSession, options: RestoreOptions): Promise<void> {
  await refuseOthers(session);
  const recorded = await readRecordedFiles(session.client);
  if (recorded.numbered.length === 0) {
    const [found] = await session.rows<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and relname <> all ($1) limit 1`,
      [['schema_migrations', 'schema_functions']],
    );
    if (found !== undefined) throw notEmpty(recorded.databaseName, found.name);
    return;
  }
  const difference = differenceOf(recorded.numbered, options.backup.manifest.migrations);
  if (difference !== undefined) {
    throw new BackupError(
      'other-schema',
      `the database "${recorded.databaseName}" belongs to another version of Troupe than the backup (${difference}). ` +
        'Restore into an empty database.',
    );
  }
  const tables = await readTables(session);
  await session.run(`set local role ${backupRole}`);
  await refuseRows(session, tables, options);
}

/** A node that runs would write between the rows of the backup, under numbers that they have. */
async function refuseOthers(session: OwnerSession): Promise<void> {
  const [row] = await session.rows<{ others: number; database: string }>(
    `select count(*)::int as others, current_database() as database from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  );
  if (row === undefined || row.others === 0) return;
  throw new BackupError(
    'in-use',
    `${row.others} other connections use the database "${row.database}". Stop all nodes of it, then try again.`,
  );
}

async function refuseRows(
  session: OwnerSession,
  tables: readonly Table[],
  { filledByMigrations }: RestoreOptions,
): Promise<void> {
  for (const { name } of tables) {
    if (filledByMigrations.includes(name)) continue;
    const [row] = await session.rows(`select from ${escapeIdentifier(name)} limit 1`);
    if (row === undefined) continue;
    const [database] = await session.rows<{ name: string }>('select current_database() as name');
    throw notEmpty(database?.name ?? '', name);
  }
}

function notEmpty(database: string, table: string): BackupError {
  return new BackupError(
    'not-empty',
    `the database "${database}" is not empty: it has rows or tables of its own (${table}). Restore into an empty ` +
      'database (DATABASE_URL) or an empty data folder (TROUPE_DATA_DIR).',
  );
}

const lockMsMax = 10_000;

async function loadAll(session: OwnerSession, options: RestoreOptions): Promise<void> {
  const { backup } = options;
  await session.run(
    `set local lock_timeout = ${lockMsMax}; set local timezone = 'UTC'; set local datestyle = 'ISO'`,
  );
  const tables = await readTables(session);
  refuseOtherColumns(backup, tables);
  const foreignKeys = await readForeignKeys(session);
  // Each takes the lock that keeps a starting node out until the commit.
  for (const table of tables) await openTable(session, table);
  await refuseOthers(session);
  await refuseRows(session, tables, options);
  for (const key of foreignKeys) await session.run(`${alter(key.table)} drop constraint ${quoted(key.name)}`);
  await makePartitions(session, backup.manifest.partitions, tables);
  for (const entry of backup.manifest.tables) {
    await loadTable(session, backup.folder, entry, options);
    await options.onTable(entry);
  }
  for (const sequence of backup.manifest.sequences) {
    await session.rows('select setval(pg_get_serial_sequence($1, $2), $3::bigint, $4)', [
      sequence.table,
      sequence.column,
      sequence.value,
      sequence.is_called,
    ]);
  }
  await closeTables(session, tables, foreignKeys);
  options.accept((await session.rows<{ id: string }>(options.masterKeys)).map(({ id }) => id));
}

/** The columns become parts of statements, so they must be those of the database. */
function refuseOtherColumns({ folder, manifest }: CheckedBackup, tables: readonly Table[]): void {
  const known = new Map(tables.map(({ name, columns }) => [name, columns.toSorted().join()]));
  const other = manifest.tables.find(({ name, columns }) => known.get(name) !== columns.toSorted().join());
  if (other === undefined) return;
  throw new BackupError(
    'damaged',
    `the backup in ${folder} has other columns of ${other.name} than its migrations.`,
  );
}

const quoted = escapeIdentifier;

function alter(table: string): string {
  return `alter table ${quoted(table)}`;
}

/** PostgreSQL refuses to copy into a table whose row-level security binds the account, as forced security does the owner. */
async function openTable(session: OwnerSession, { name, isSecured }: Table): Promise<void> {
  await session.run(`${alter(name)} disable trigger user`);
  if (isSecured) await session.run(`${alter(name)} no force row level security`);
}

/** Foreign keys are checked once for all rows, here. */
async function closeTables(
  session: OwnerSession,
  tables: readonly Table[],
  foreignKeys: readonly ForeignKey[],
): Promise<void> {
  for (const { table, name, definition } of foreignKeys) {
    await session.run(`${alter(table)} add constraint ${quoted(name)} ${definition}`);
  }
  for (const { name, isSecured } of tables) {
    await session.run(`${alter(name)} enable trigger user`);
    if (isSecured) await session.run(`${alter(name)} force row level security`);
  }
}

async function makePartitions(
  session: OwnerSession,
  wanted: readonly PartitionEntry[],
  tables: readonly Table[],
): Promise<void> {
  const present = new Set((await readPartitions(session)).map(({ name }) => name));
  for (const { name, parent, from, to } of wanted) {
    if (present.has(name)) continue;
    await session.run(
      `create table ${quoted(name)} partition of ${quoted(parent)}
       for values from (${escapeLiteral(from)}) to (${escapeLiteral(to)})`,
    );
    if (!tables.some((table) => table.name === parent && table.isSecured)) continue;
    await session.run(`${alter(name)} enable row level security`);
    await session.run(`${alter(name)} force row level security`);
  }
}

async function loadTable(
  session: OwnerSession,
  folder: string,
  entry: TableEntry,
  { filledByMigrations }: RestoreOptions,
): Promise<void> {
  const name = quoted(entry.name);
  if (filledByMigrations.includes(entry.name)) await session.run(`delete from ${name}`);
  const copy = session.stream(copyFrom(`copy ${name} (${entry.columns.map(quoted).join(', ')}) from stdin`));
  await readTable(folder, entry, copy);
  if (copy.rowCount === entry.rows) return;
  throw new BackupError(
    'damaged',
    `${copy.rowCount} rows of ${entry.name} were read instead of the ${entry.rows} that were written.`,
  );
}
