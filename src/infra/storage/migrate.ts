// Forward-only migrations. Each file of migrations/ runs once, in the order of its number, in a
// transaction of its own; what ran is recorded with a checksum. An advisory lock makes nodes that start
// at the same time wait for the first one.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { StoreError, toStoreError } from './errors.js';

export const migrationsDirectory = fileURLToPath(new URL('../../../../migrations', import.meta.url));

export type MigrationFailure = 'changed' | 'newer-database' | 'privileges' | 'bad-file' | 'failed';

/** Why the schema could not be brought up to date; the message says how to mend it. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
  readonly failure: MigrationFailure;

  constructor(failure: MigrationFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

export type MigrationOptions = {
  readonly databaseUrl: string;
  readonly directory?: string;
  /**
   * Whether a database that has more migrations than this code is accepted. An old node that restarts
   * during a rolling upgrade wants this, since migrations are made so that both work.
   */
  readonly acceptNewer?: boolean;
};

export type MigrationResult = {
  /** Names of the files that this call applied. */
  readonly applied: readonly string[];
  /** The highest number in the database now. */
  readonly version: number;
};

type Migration = {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
};

const recordedSchema = z.array(z.object({ number: z.number(), name: z.string(), checksum: z.string() }));
type Recorded = z.infer<typeof recordedSchema>;

/** Any number will do, as long as every version of Troupe takes the same one. */
const lockKey = 5_021_873_901;

export async function migrate(options: MigrationOptions): Promise<MigrationResult> {
  const migrations = await readMigrations(options.directory ?? migrationsDirectory);
  const client = new pg.Client({
    connectionString: options.databaseUrl,
    application_name: 'troupe_migrate',
    connectionTimeoutMillis: 10_000,
  });
  // A connection that breaks while nothing is asked of it is seen by the next statement.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const settled = pending(migrations, await recorded(client), options);
    if (settled.length === 0) return { applied: [], version: lastNumber(migrations) };
    await client.query('select pg_advisory_lock($1)', [lockKey]);
    await client.query(
      'create table if not exists schema_migrations (number int primary key, name text not null, ' +
        'checksum text not null, applied_at timestamptz not null default now())',
    );
    // Looked at again under the lock: another node may have done the work while this one waited.
    const todo = pending(migrations, await recorded(client), options);
    for (const migration of todo) await apply(client, migration);
    return { applied: todo.map(({ name }) => name), version: lastNumber(migrations) };
  } catch (error) {
    throw explain(error, options.databaseUrl);
  } finally {
    await client.end(); // frees the lock
  }
}

async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  const migrations = await Promise.all(
    names.map(async (name) => {
      const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
      if (number === undefined) {
        throw new MigrationError('bad-file', `${name} is not named like "0012_what_it_does.sql"`);
      }
      // A checkout with other line ends is the same migration.
      const text = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
      return {
        number: Number(number),
        name,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      };
    }),
  );
  for (const [index, { number, name }] of migrations.entries()) {
    const previous = migrations[index - 1];
    if (previous?.number === number) {
      throw new MigrationError('bad-file', `${previous.name} and ${name} have the same number`);
    }
  }
  return migrations;
}

async function recorded(client: pg.Client): Promise<Recorded> {
  const table = await client.query("select to_regclass('public.schema_migrations') is not null as present");
  if (!z.array(z.object({ present: z.boolean() })).parse(table.rows)[0]?.present) return [];
  const { rows } = await client.query('select number, name, checksum from schema_migrations order by number');
  return recordedSchema.parse(rows);
}

function pending(
  migrations: readonly Migration[],
  done: Recorded,
  { acceptNewer = false }: MigrationOptions,
): readonly Migration[] {
  const byNumber = new Map(migrations.map((migration) => [migration.number, migration]));
  for (const { number, name, checksum } of done) {
    const migration = byNumber.get(number);
    if (migration === undefined) {
      if (acceptNewer && number > lastNumber(migrations)) continue;
      throw new MigrationError(
        'newer-database',
        `The database has the migration ${name}, which this version of Troupe does not know. ` +
          'Start the version that made it, or a later one.',
      );
    }
    if (migration.checksum !== checksum) {
      throw new MigrationError(
        'changed',
        `The migration ${migration.name} was changed after it had been applied. Put the file back as it was, ` +
          'and make the change in a new migration.',
      );
    }
  }
  const known = new Set(done.map(({ number }) => number));
  return migrations.filter(({ number }) => !known.has(number));
}

function lastNumber(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const attemptsMax = 5;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin');
      await client.query(migration.text);
      await client.query('insert into schema_migrations (number, name, checksum) values ($1, $2, $3)', [
        migration.number,
        migration.name,
        migration.checksum,
      ]);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback');
      if (attempt === attemptsMax || !isRaceOnRoles(error)) {
        throw new MigrationError('failed', `The migration ${migration.name} failed`, { cause: error });
      }
      await delay(50 * attempt);
    }
  }
}

/** Roles belong to the server; the lock only to this database. Another one may grant the same role now. */
function isRaceOnRoles(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  if (error.code === '40001' || error.code === '40P01') return true;
  if (error.code === 'XX000') return error.message.startsWith('tuple concurrently');
  return error.code === '23505' && (error.table ?? '').startsWith('pg_');
}

function explain(error: unknown, databaseUrl: string): unknown {
  const cause = error instanceof MigrationError ? error.cause : error;
  if (cause instanceof pg.DatabaseError && cause.code === '42501') {
    const user = decodeURIComponent(new URL(databaseUrl).username);
    return new MigrationError(
      'privileges',
      `The database user "${user}" lacks a privilege that migrations need (${cause.message}). It must own the ` +
        `database and be allowed to create roles: alter role "${user}" createrole; alter database … owner to ` +
        `"${user}". Or let an administrator run once: create role troupe_app; create role troupe_directory; ` +
        `create role troupe_writer; grant troupe_app, troupe_directory, troupe_writer to "${user}".`,
      { cause: error },
    );
  }
  if (error instanceof MigrationError) return error;
  const translated = toStoreError(error, 'Migrating');
  return translated instanceof StoreError ? translated : error;
}
