// The files of migrations/: numbered files, which run once, and functions, which run again when their text changes.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MigrationError } from './migration-error.js';
import { readReleases, servesFrom as oldestSchemaFor } from './released-schema.js';

export const migrationsDirectory = fileURLToPath(new URL('../../../../migrations', import.meta.url));

export interface SqlFile {
  /** As `0010_identity.sql` or `functions/record_change.sql`. */
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

export interface NumberedFile extends SqlFile {
  readonly number: number;
  /** A node that does not know the schema up to this number cannot use a database that has the file. */
  readonly servesFrom: number;
}

export interface MigrationFiles {
  /** In the order of their numbers. */
  readonly numbered: readonly NumberedFile[];
  readonly functions: readonly SqlFile[];
}

export async function readMigrationFiles(directory: string): Promise<MigrationFiles> {
  const releases = await readReleases(directory);
  const numbered = await Promise.all(
    (await sqlNames(directory)).map(async (name) => {
      const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
      if (number === undefined) {
        throw new MigrationError('bad-file', `${name} is not named like "0012_what_it_does.sql"`);
      }
      const servesFrom = oldestSchemaFor(name, releases);
      return { ...(await readSql(directory, name)), number: Number(number), servesFrom };
    }),
  );
  for (const [index, { number, name }] of numbered.entries()) {
    const previous = numbered[index - 1];
    if (previous?.number === number) {
      throw new MigrationError('bad-file', `${previous.name} and ${name} have the same number`);
    }
  }
  const functions = await Promise.all(
    (await sqlNames(join(directory, 'functions'))).map((name) => readSql(directory, `functions/${name}`)),
  );
  return { numbered, functions };
}

async function sqlNames(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  } catch (error) {
    // Without any function there is no folder.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

async function readSql(directory: string, name: string): Promise<SqlFile> {
  // A checkout with other line ends is the same file.
  const text = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
  return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
}
