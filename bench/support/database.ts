import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { counterSchema } from '../../cluster/example/postgres-counter.js';
import { migrate, startEmbeddedPostgres } from '../../src/infra/storage/index.js';

export interface BenchDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

/** A private PostgreSQL with the platform's settings, flushing on, and the tables of the example counter. */
export async function startDatabase(): Promise<BenchDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  // Removes the data of a part that failed; PostgreSQL itself ends with this process.
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres({ directory, flush: false });
  const url = postgres.connectionString;
  await migrate({ databaseUrl: url });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `${counterSchema} grant select, insert, update on example_counters, example_additions to troupe_writer;`,
  );
  await client.end();
  return {
    url,
    async stop() {
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
