// A real database for each test file, cloned from a migrated template that is made once per run.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestFn } from 'ava';
import { migrate } from '../../../src/infra/storage/index.js';

export type TestDatabase = {
  readonly name: string;
  /** Connects as the owner of the tables, as a node does. */
  readonly url: string;
  /** Ends all remaining connections. */
  drop(): Promise<void>;
};

/** Everything that a run makes on the server carries this, so that scripts/test.mjs can remove it. */
const prefix = `troupe_test_${process.env['TROUPE_TEST_RUN'] ?? 'alone'}`;
const template = `${prefix}_template`;
/** Any number will do: no other program takes advisory locks in that database. */
const templateLock = 774_411;
const dropMsMax = 30_000;
/** PostgreSQL starts a process for each connection, which takes its time on a machine that does other work. */
export const databaseConnectMs = 60_000;
/** insufficient_privilege and object_in_use. */
const refusedForNow = ['42501', '55006'];

/** The server of this run; scripts/test.mjs provides it. */
export function serverUrl(): string {
  const url = process.env['TROUPE_TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('There is no database: run the tests with "npm test"');
  return url;
}

/** A migrated database of its own. With `t`, it is dropped at the end of that test. */
export async function createDatabase(t?: { teardown(fn: () => Promise<void>): void }): Promise<TestDatabase> {
  const database = await withServer(async (server) => {
    await makeTemplate(server);
    return create(server, template);
  });
  t?.teardown(database.drop);
  return database;
}

/** A database without any table, for tests of the migrations themselves. */
export async function createEmptyDatabase(t?: {
  teardown(fn: () => Promise<void>): void;
}): Promise<TestDatabase> {
  const database = await withServer((server) => create(server, 'template0'));
  t?.teardown(database.drop);
  return database;
}

export type FileDatabase = {
  readonly url: string;
  /** Runs before the database is dropped, in reverse order: close the connections. */
  atEnd(work: () => Promise<void>): void;
};

/** One database for all tests of a file: made before its other hooks, dropped after its last test. */
export function databaseOfFile<Context>(test: TestFn<Context>): FileDatabase {
  let database: TestDatabase | undefined;
  const endings: (() => Promise<void>)[] = [];
  test.serial.before('a database for this file', async () => {
    database = await createDatabase();
  });
  test.serial.after.always('the database is dropped', async () => {
    for (const ending of endings.toReversed()) await ending();
    await database?.drop();
  });
  return {
    get url() {
      if (database === undefined) throw new Error('The database is there once the hooks run');
      return database.url;
    },
    atEnd: (work) => void endings.push(work),
  };
}

async function create(server: pg.Client, from: string): Promise<TestDatabase> {
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name} template ${from}`);
  return {
    name,
    url: urlOf(name),
    drop: () => withServer((later) => drop(later, name)),
  };
}

/**
 * Drops a database and ends its connections. Two refusals are retried. An autovacuum worker on it belongs to the
 * superuser, which the tests' account may not end, and leaves within moments. Ended backends may still be exiting:
 * PostgreSQL itself gives them five seconds, which a busy machine may exceed.
 */
async function drop(server: pg.Client, name: string): Promise<void> {
  const endsAt = performance.now() + dropMsMax;
  for (;;) {
    try {
      await server.query(`drop database if exists ${name} with (force)`);
      return;
    } catch (error) {
      const refused = error instanceof pg.DatabaseError && refusedForNow.includes(error.code ?? '');
      if (!refused || performance.now() > endsAt) throw error;
      await delay(100);
    }
  }
}

/** The first test file that asks makes it; the others wait at the lock. */
async function makeTemplate(server: pg.Client): Promise<void> {
  if (await exists(server, template)) return;
  await server.query('select pg_advisory_lock($1)', [templateLock]);
  try {
    if (await exists(server, template)) return;
    const unfinished = `${template}_unfinished`;
    await drop(server, unfinished);
    await server.query(`create database ${unfinished} template template0`);
    await migrate({ databaseUrl: urlOf(unfinished) });
    await server.query(`alter database ${unfinished} rename to ${template}`);
  } finally {
    await server.query('select pg_advisory_unlock($1)', [templateLock]);
  }
}

async function exists(server: pg.Client, name: string): Promise<boolean> {
  return (await server.query('select from pg_database where datname = $1', [name])).rowCount === 1;
}

function urlOf(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  url.searchParams.set('connect_timeout', String(databaseConnectMs / 1_000));
  return url.href;
}

async function withServer<Result>(work: (server: pg.Client) => Promise<Result>): Promise<Result> {
  const server = new pg.Client({ connectionString: serverUrl() });
  await server.connect();
  try {
    return await work(server);
  } finally {
    await server.end();
  }
}
