import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';

/** A PostgreSQL with the platform's settings and one plain table. */
export async function startPlainStore() {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: false });
  const pool = new pg.Pool({ connectionString: postgres.connectionString, max: 16 });
  // PostgreSQL may stop before all connections of the pool are closed.
  pool.on('error', () => undefined);
  await pool.query(
    'create table accepted (id uuid primary key, body text not null, at timestamptz not null default now())',
  );
  return {
    pool,
    async stop() {
      await pool.end();
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
