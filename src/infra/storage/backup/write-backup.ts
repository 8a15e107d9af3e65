// Makes a backup: one snapshot of all tables, in a folder that gets its name when everything is on the disk.
import { chmod, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { escapeIdentifier } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { makeFolder } from '../folders.js';
import { readRecordedFiles } from '../migration-plan.js';
import { backupRole } from '../roles.js';
import { readPartitions, readTables, type Table } from './catalogue.js';
import { BackupError } from './errors.js';
import { flushFolder, writeTable } from './files.js';
import {
  fileOf,
  formatNumber,
  type Manifest,
  type SequenceEntry,
  type TableEntry,
  writeManifest,
} from './manifest.js';
import { inTransaction, type OwnerSession } from './session.js';

export interface BackupOptions {
  readonly databaseUrl: string;
  /** Must not exist. */
  readonly folder: string;
  /** Tables whose rows belong to this installation only. */
  readonly leftOut: readonly string[];
  /** Selects the fingerprints of the master keys that the data needs, as `id`. */
  readonly masterKeys: string;
  /** Before any row is copied: throws if the backup could not be used. */
  readonly accept: (masterKeys: readonly string[]) => void;
  readonly onTable: (table: TableEntry) => void | Promise<void>;
}

/** Nodes may go on serving: a snapshot locks nothing that they need. */
export async function writeBackup(options: BackupOptions): Promise<Manifest> {
  const { folder } = options;
  await refuseExisting(folder);
  await makeFolder(dirname(folder));
  const draft = await mkdtemp(`${folder}.unfinished-`);
  try {
    await chmod(draft, 0o700);
    const manifest = await inTransaction(
      options.databaseUrl,
      { name: 'troupe_backup', begin: 'begin isolation level repeatable read read only' },
      (session) => copyAll(session, draft, options),
    );
    await writeManifest(draft, manifest);
    await flushFolder(draft);
    await refuseExisting(folder);
    await rename(draft, folder);
    await flushFolder(dirname(folder));
    return manifest;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function refuseExisting(folder: string): Promise<void> {
  const exists = await stat(folder).then(
    () => true,
    () => false,
  );
  if (!exists) return;
  throw new BackupError('folder-exists', `${folder} exists already. Name a folder that does not exist.`);
}

async function copyAll(session: OwnerSession, folder: string, options: BackupOptions): Promise<Manifest> {
  // Times with their offset, whatever the account's settings are.
  await session.run(
    `set local timezone = 'UTC'; set local datestyle = 'ISO'; set local intervalstyle = 'postgres'`,
  );
  const { numbered } = await readRecordedFiles(session.client);
  const migrations = numbered.map(({ number, name, checksum }) => ({ number, name, checksum }));
  const tables = (await readTables(session)).filter(({ name }) => !options.leftOut.includes(name));
  refuseUnreadable(tables);
  const partitions = await readPartitions(session);
  await session.run(`set local role ${backupRole}`);
  const [now] = await session.rows<{ taken_at: Date }>('select now() as taken_at');
  const masterKeys = (await session.rows<{ id: string }>(options.masterKeys)).map(({ id }) => id);
  options.accept(masterKeys);
  const copied: TableEntry[] = [];
  const sequences: SequenceEntry[] = [];
  for (const table of tables) {
    const entry = await copyTable(session, folder, table);
    copied.push(entry);
    // After the rows: the sequence may be ahead of the snapshot, never behind it.
    for (const column of table.numbered) sequences.push(await readSequence(session, table.name, column));
    await options.onTable(entry);
  }
  return {
    format: formatNumber,
    taken_at: (now?.taken_at ?? new Date(0)).toISOString(),
    migrations,
    master_keys: masterKeys,
    tables: copied,
    partitions: [...partitions],
    sequences,
  };
}

/** A table that row-level security hides would look empty. */
function refuseUnreadable(tables: readonly Table[]): void {
  const hidden = tables.filter(({ isReadable }) => !isReadable).map(({ name }) => name);
  if (tables.length > 0 && hidden.length === 0) return;
  const what =
    tables.length === 0
      ? 'the database has no tables of Troupe'
      : `${backupRole} cannot read ${hidden.join(', ')}`;
  throw new BackupError('incomplete', `${what}. Run \`troupe migrate\` with this version, then try again.`);
}

async function copyTable(session: OwnerSession, folder: string, table: Table): Promise<TableEntry> {
  const columns = table.columns.map(escapeIdentifier).join(', ');
  const rows = session.stream(
    copyTo(`copy (select ${columns} from ${escapeIdentifier(table.name)}) to stdout`),
  );
  const written = await writeTable(folder, table.name, rows).catch((error: unknown) => {
    throw isOfFiles(error)
      ? new BackupError(
          'not-written',
          `${folder}/${fileOf(table.name)} cannot be written: ${error.message}`,
          {
            cause: error,
          },
        )
      : error;
  });
  // The stream ends before the server reports the number of rows.
  await session.run('select');
  return { name: table.name, columns: [...table.columns], rows: rows.rowCount, ...written };
}

function isOfFiles(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

async function readSequence(session: OwnerSession, table: string, column: string): Promise<SequenceEntry> {
  const [place] = await session.rows<{ name: string }>('select pg_get_serial_sequence($1, $2) as name', [
    table,
    column,
  ]);
  const [row] = await session.rows<{ value: string; is_called: boolean }>(
    `select last_value::text as value, is_called from ${place?.name}`,
  );
  return { table, column, value: row?.value ?? '1', is_called: row?.is_called ?? false };
}
