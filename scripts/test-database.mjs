// The PostgreSQL of one test run: the server of DATABASE_URL, or a temporary embedded one.
import { access, constants, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** No flushing: the data is temporary, and a killed process leaves the same data without it. */
const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  shared_buffers: '128MB',
  // Databases are cloned through the log instead of with two checkpoints.
  checkpoint_timeout: '1h',
  max_wal_size: '1GB',
};

const directoryPrefix = 'troupe-test-postgres-';
/**
 * Memory as a file system. A clone makes 600 files, which takes PostgreSQL 35 ms there, and 60 to 600 on a disk whose
 * free inodes lie far apart.
 */
const memory = '/dev/shm';
/** The data of a whole run with its log stays below a third of this. */
const memoryBytesMin = 6 * 1024 ** 3;

export async function provideDatabase(run) {
  const given = process.env.DATABASE_URL;
  if (given !== undefined && given !== '') {
    return {
      environment: { TROUPE_TEST_DATABASE_URL: given },
      stop: () => dropDatabases(given, `troupe_test_${run}`),
    };
  }
  const { startEmbeddedPostgres } = await import('../dist/src/infra/storage/embedded/index.js');
  await removeLeftovers();
  const parent = (await hasMemory()) ? memory : tmpdir();
  const directory = await mkdtemp(join(parent, `${directoryPrefix}${process.pid}-`));
  const postgres = await startEmbeddedPostgres({ directory, settings, flush: false });
  return {
    environment: { TROUPE_TEST_DATABASE_URL: postgres.connectionString },
    stop: async () => {
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function hasMemory() {
  try {
    await access(memory, constants.W_OK);
    const { bavail, bsize } = await statfs(memory);
    return bavail * bsize >= memoryBytesMin;
  } catch {
    // Other systems have no such folder.
    return false;
  }
}

/** Removes the data of killed runs, whose PostgreSQL ended with them. */
async function removeLeftovers() {
  for (const parent of [memory, tmpdir()]) await removeLeftoversIn(parent);
}

async function removeLeftoversIn(parent) {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = Number(
      /^(\d+)-/.exec(name.startsWith(directoryPrefix) ? name.slice(directoryPrefix.length) : '')?.[1],
    );
    if (!(pid > 0) || isAlive(pid)) continue;
    // Fails for files of another account, or if another run removes them at the same time.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function dropDatabases(url, prefix) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query('select datname from pg_database where datname like $1', [
      `${prefix.replaceAll('_', '\\_')}%`,
    ]);
    for (const { datname } of rows) {
      await client.query(`drop database if exists ${client.escapeIdentifier(datname)} with (force)`);
    }
  } finally {
    await client.end();
  }
}
