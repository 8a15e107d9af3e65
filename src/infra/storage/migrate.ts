// Forward-only migrations. Each numbered file of migrations/ runs once, in the order of the numbers; then each file of
// migrations/functions/ runs whose text this database has not had. Every file runs in a transaction of its own, which
// records its checksum; a file that PostgreSQL takes only outside a transaction is recorded after it. An advisory lock
// makes nodes that start at the same time wait for the first one.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { connectTimeoutOf, keepAliveDelayMs } from './connection.js';
import { StoreError, toStoreError } from './errors.js';
import { MigrationError } from './migration-error.js';
import {
  type MigrationFiles,
  migrationsDirectory,
  readMigrationFiles,
  type SqlFile,
} from './migration-files.js';
import { lastNumber, pendingFiles, readRecordedFiles } from './migration-plan.js';

export type MigrationOptions = {
  readonly databaseUrl: string;
  readonly directory?: string;
  /**
   * Whether a database that has the migrations of the next release is accepted. An old node that restarts
   * during a rolling upgrade wants this, since migrations are made so that both work.
   */
  readonly acceptNewer?: boolean;
  /** Only the numbered files up to this one, and no functions: the tables of an earlier version, for its rows. */
  readonly through?: number;
  /** Hears that another process migrates, or seems to. */
  readonly note?: (what: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Waits; a test may hand in its own. */
  readonly pause?: (ms: number) => Promise<unknown>;
};

export type MigrationResult = {
  /** Names of the files that this call applied. */
  readonly applied: readonly string[];
  /** The highest number of this version's files. */
  readonly version: number;
  /** Whether the database has files of a later version. */
  readonly isNewer: boolean;
};

/** The number is arbitrary, but every version of Troupe must use the same one. */
const lockKey = 5_021_873_901;
const lockAgainMs = 100;
const noteAfterMs = 10_000;
const noteAgainMs = 60_000;
/**
 * This process may vanish while it holds the lock: the others would wait for it until the server notices, by default after
 * two hours. That the server itself has gone, this process notices by its own.
 */
const keepAlives = `set tcp_keepalives_idle = ${keepAliveDelayMs / 1_000};
  set tcp_keepalives_interval = 10; set tcp_keepalives_count = 6`;

/**
 * schema_functions keeps every text that a function has had: an older node must not restore a former text. Version 0.1
 * made schema_migrations without `serves_from`, and does not read it.
 */
const recordTables = `
  create table if not exists schema_migrations (number int primary key, name text not null,
    checksum text not null, applied_at timestamptz not null default now());
  alter table schema_migrations add column if not exists serves_from int not null default 0;
  create table if not exists schema_functions (name text not null, checksum text not null,
    applied_at timestamptz not null default now(), primary key (name, checksum))`;

export async function migrate(options: MigrationOptions): Promise<MigrationResult> {
  const files = filesThrough(
    options.through,
    await readMigrationFiles(options.directory ?? migrationsDirectory),
  );
  const client = new pg.Client({
    connectionString: options.databaseUrl,
    application_name: 'troupe_migrate',
    connectionTimeoutMillis: connectTimeoutOf(options.databaseUrl, 10_000),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
  });
  // The next statement reports a connection that broke while idle.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const done = await applyPending(client, files, options);
    return { ...done, version: lastNumber(files.numbered) };
  } catch (error) {
    throw explain(error, options.databaseUrl);
  } finally {
    await client.end(); // frees the lock
  }
}

function filesThrough(last: number | undefined, files: MigrationFiles): MigrationFiles {
  if (last === undefined) return files;
  return { numbered: files.numbered.filter(({ number }) => number <= last), functions: [] };
}

async function applyPending(
  client: pg.Client,
  files: MigrationFiles,
  options: MigrationOptions,
): Promise<Pick<MigrationResult, 'applied' | 'isNewer'>> {
  const accepted = { acceptNewer: options.acceptNewer ?? false };
  const before = pendingFiles(files, await readRecordedFiles(client), accepted);
  const { isNewer } = before;
  if (before.numbered.length + before.functions.length === 0) return { applied: [], isNewer };
  await client.query(keepAlives);
  await takeLock(client, options);
  await client.query(recordTables);
  // Read again under the lock: another node may have applied the files while this one waited.
  const { numbered, functions } = pendingFiles(files, await readRecordedFiles(client), accepted);
  for (const { number, servesFrom, ...file } of numbered) {
    await apply(client, file, {
      text: 'insert into schema_migrations (number, name, checksum, serves_from) values ($1, $2, $3, $4)',
      values: [number, file.name, file.checksum, servesFrom],
    });
  }
  for (const file of functions) {
    await apply(client, file, {
      text: 'insert into schema_functions (name, checksum) values ($1, $2)',
      values: [file.name, file.checksum],
    });
  }
  return { applied: [...numbered, ...functions].map(({ name }) => name), isNewer };
}

/** Asks again and again: a build of an index beside writes waits for every statement that runs, also for one that waits. */
async function takeLock(
  client: pg.Client,
  { note, pause = delay }: Pick<MigrationOptions, 'note' | 'pause'>,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lockAgainMs) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      lockKey,
    ]);
    if (rows[0]?.taken === true) return;
    if (waitedMs % noteAgainMs === noteAfterMs) {
      note?.('waiting for another process that migrates the database', await lockHolder(client));
    }
    await pause(lockAgainMs);
  }
}

/** Who has the lock: if its machine has gone, an operator can end it with pg_terminate_backend. */
async function lockHolder(client: pg.Client): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await client.query<Record<string, unknown>>(
    `select a.pid, a.application_name as application, a.client_addr::text as address, a.backend_start as since
      from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and (l.classid::bigint << 32) + l.objid::bigint = $1
        and l.database = (select oid from pg_database where datname = current_database())`,
    [lockKey],
  );
  return { ...rows[0] };
}

/** In the file's transaction: a table is never without it. The first file creates the function. */
const letBackupRead = `
  do $$ begin
    if to_regprocedure('public.let_backup_read()') is not null then perform public.let_backup_read(); end if;
  end $$`;

/**
 * PostgreSQL builds an index beside writes only outside a transaction. Such a file may be cut off anywhere and is then
 * applied again from its start.
 */
const outside = /^-- outside a transaction\b/m;

function statementsOf(text: string): readonly string[] {
  return text
    .replaceAll(/^--.*$/gm, '')
    .split(/;$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

async function apply(client: pg.Client, file: SqlFile, record: pg.QueryConfig): Promise<void> {
  const attemptsMax = 5;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const isOutside = outside.test(file.text);
      if (isOutside) for (const statement of statementsOf(file.text)) await client.query(statement);
      await client.query('begin');
      if (!isOutside) await client.query(file.text);
      await client.query(record);
      await client.query(letBackupRead);
      await client.query('commit');
      return;
    } catch (error) {
      // On a broken connection it fails as well, and would hide which file it was.
      await client.query('rollback').catch(() => undefined);
      if (attempt === attemptsMax || !mayPass(error)) {
        throw new MigrationError('failed', `The migration ${file.name} failed`, { cause: error });
      }
      await delay(50 * attempt);
    }
  }
}

/**
 * A deadlock with running nodes, or a race over roles: roles belong to the server, but the lock only to this database,
 * so a migration of another database may grant the same role now.
 */
function mayPass(error: unknown): boolean {
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
        `create role troupe_writer; create role troupe_backup; grant troupe_app, troupe_directory, troupe_writer, ` +
        `troupe_backup to "${user}".`,
      { cause: error },
    );
  }
  if (error instanceof MigrationError) return error;
  const translated = toStoreError(error, 'Migrating');
  return translated instanceof StoreError ? translated : error;
}
