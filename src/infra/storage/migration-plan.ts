// Compares the files of migrations/ with what a database records of them.
import type pg from 'pg';
import { z } from 'zod';
import { MigrationError } from './migration-error.js';
import type { MigrationFiles, NumberedFile } from './migration-files.js';

const numberedRows = z.array(
  z.object({
    number: z.number(),
    name: z.string(),
    checksum: z.string(),
    // Missing in a database that only version 0.1 has migrated.
    serves_from: z.number().default(0),
  }),
);
const functionRows = z.array(z.object({ name: z.string(), checksum: z.string() }));

/** The files that a database has had. */
export interface RecordedFiles {
  readonly databaseName: string;
  readonly numbered: z.infer<typeof numberedRows>;
  /** Every text that a function's file has had, not only the last one. */
  readonly functions: z.infer<typeof functionRows>;
}

export async function readRecordedFiles(client: pg.ClientBase): Promise<RecordedFiles> {
  const { rows } = await client.query(`
    select current_database() as database_name, to_regclass('public.schema_migrations') is not null as has_numbered,
           to_regclass('public.schema_functions') is not null as has_functions`);
  const [found] = z
    .tuple([z.object({ database_name: z.string(), has_numbered: z.boolean(), has_functions: z.boolean() })])
    .parse(rows);
  const numbered = found.has_numbered
    ? (await client.query('select * from schema_migrations order by number')).rows
    : [];
  const functions = found.has_functions
    ? (await client.query('select name, checksum from schema_functions')).rows
    : [];
  return {
    databaseName: found.database_name,
    numbered: numberedRows.parse(numbered),
    functions: functionRows.parse(functions),
  };
}

export interface PendingFiles extends MigrationFiles {
  /** Whether the database has files that this version does not. */
  readonly isNewer: boolean;
}

/** The files to apply, in their order. Throws where this version of Troupe must not use the database. */
export function pendingFiles(
  files: MigrationFiles,
  recorded: RecordedFiles,
  { acceptNewer }: { readonly acceptNewer: boolean },
): PendingFiles {
  refuseUnsupported(files.numbered, recorded);
  refuseTooNew(files.numbered, recorded);
  const isNewer = refuseChanged(files.numbered, recorded, acceptNewer);
  const known = new Set(recorded.numbered.map(({ number }) => number));
  const applied = new Set(recorded.functions.map(functionKey));
  return {
    isNewer,
    numbered: files.numbered.filter(({ number }) => !known.has(number)),
    // A newer version has applied its functions: this version's older texts must not replace them.
    functions: isNewer ? [] : files.functions.filter((file) => !applied.has(functionKey(file))),
  };
}

export function lastNumber(numbered: readonly NumberedFile[]): number {
  return numbered.at(-1)?.number ?? 0;
}

function functionKey({ name, checksum }: { readonly name: string; readonly checksum: string }): string {
  return `${name} ${checksum}`;
}

/** A database with files that were replaced before the first release cannot be brought up to date. */
function refuseUnsupported(numbered: readonly NumberedFile[], recorded: RecordedFiles): void {
  const names = new Map(numbered.map(({ number, name }) => [number, name]));
  const last = lastNumber(numbered);
  const stranger = recorded.numbered.find(({ number, name }) => number <= last && names.get(number) !== name);
  if (stranger === undefined) return;
  throw new MigrationError(
    'unsupported-database',
    `The database "${recorded.databaseName}" was set up by an earlier, unreleased version of Troupe (it has ` +
      `${stranger.name}), and this version cannot upgrade it. Start with an empty database (DATABASE_URL) or an ` +
      'empty data folder (TROUPE_DATA_DIR).',
  );
}

/** Refuses a database of which a later release has changed or removed what this version uses. */
function refuseTooNew(numbered: readonly NumberedFile[], recorded: RecordedFiles): void {
  const last = lastNumber(numbered);
  const cause = recorded.numbered.find((file) => file.serves_from > last);
  if (cause === undefined) return;
  throw new MigrationError(
    'newer-database',
    `The database "${recorded.databaseName}" has the migration ${cause.name} of a version of Troupe more than one ` +
      `release later. It serves nodes that know the schema ${cause.serves_from} or a later one; this version knows ` +
      `schema ${last}. Start the version that applied it or the one before; docs/guides/upgrade.md.`,
  );
}

/** Refuses files that changed after they were applied. Returns whether the database is newer than the files. */
function refuseChanged(
  numbered: readonly NumberedFile[],
  recorded: RecordedFiles,
  acceptNewer: boolean,
): boolean {
  const byNumber = new Map(numbered.map((file) => [file.number, file]));
  let isNewer = false;
  for (const { number, name, checksum } of recorded.numbered) {
    const file = byNumber.get(number);
    if (file === undefined) {
      isNewer = true;
      if (acceptNewer) continue;
      throw new MigrationError(
        'newer-database',
        `The database "${recorded.databaseName}" has the migration ${name}, which this version of Troupe does not ` +
          'know. Start the version that applied it, or a later one.',
      );
    }
    if (file.checksum !== checksum) {
      throw new MigrationError(
        'changed',
        `The migration ${file.name} was changed after it had been applied to the database ` +
          `"${recorded.databaseName}". Restore the file, and make the change in a new migration.`,
      );
    }
  }
  return isNewer;
}
