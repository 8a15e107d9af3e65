// A node with two tenants on one core. PostgreSQL starts here, so it shares the other core with the load.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { type BenchServer, pinLoad, startServer } from '../support/servers.js';
import { openReceiver } from './requests.js';

export interface TwoTenants {
  readonly server: BenchServer;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export async function startTwoTenants(
  postgresSettings: Readonly<Record<string, string>> = {},
): Promise<TwoTenants> {
  pinLoad();
  const receiver = await openReceiver();
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  const postgres = await startEmbeddedPostgres({
    directory: join(directory, 'postgres'),
    settings: postgresSettings,
    flush: false,
  });
  process.env['BENCH_DATABASE'] = postgres.connectionString;
  const server = await startServer('troupe', './two-tenants.server.js', import.meta.url);
  return {
    server,
    databaseUrl: postgres.connectionString,
    async stop() {
      await server.stop();
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
      receiver.close();
    },
  };
}
