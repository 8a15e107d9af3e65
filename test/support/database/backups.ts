// Databases to back up, and backups of them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import {
  type BackupOptions,
  checkBackup,
  restoreBackup,
  writeBackup,
} from '../../../src/infra/storage/index.js';
import { ownerView } from './owner-view.js';

export const fingerprint = 'a'.repeat(32);
export const masterKeys = `select '${fingerprint}' as id`;
export const nothing = (): void => undefined;

export async function folderFor(t: ExecutionContext): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
  t.teardown(() => rm(parent, { recursive: true, force: true }));
  return join(parent, 'backup');
}

export function backUp(databaseUrl: string, folder: string, options: Partial<BackupOptions> = {}) {
  const usual = { leftOut: [], masterKeys, accept: nothing, onTable: nothing };
  return writeBackup({ databaseUrl, folder, ...usual, ...options });
}

export async function restore(databaseUrl: string, folder: string, accept = nothing): Promise<void> {
  const backup = await checkBackup(folder, nothing);
  const parts = { filledByMigrations: ['change_counter'], masterKeys, accept, onTable: nothing };
  await restoreBackup({ databaseUrl, backup, ...parts });
}

export const user = '00000000-0000-4000-8000-000000000001';
export const tenant = '00000000-0000-4000-8000-000000000002';
const awkward = `O'Neil\\n\t"quoted" \\. \u{1F600} ' ; drop table users`;

export async function connected(t: ExecutionContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

/** Rows that refer to each other, of an old month, with every kind of column. */
export async function fill(url: string): Promise<void> {
  const owner = await ownerView(url);
  await owner.query('select prepare_call_partitions($1)', ['2025-03-10T00:00:00Z']);
  await owner.query('insert into users (id, email, name) values ($1, $2, $3)', [
    user,
    'a@test.example',
    awkward,
  ]);
  await owner.query('insert into tenants (id, name, settings, made_by) values ($1, $2, $3, $4)', [
    tenant,
    awkward,
    { note: awkward },
    user,
  ]);
  await owner.query(`insert into memberships (tenant_id, user_id, role) values ($1, $2, 'owner')`, [
    tenant,
    user,
  ]);
  await owner.query(
    `insert into calls (tenant_id, started_at, call_id, call_source, provider, model, first_model, status,
       from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost,
       response_time_ms, input_preview, output_preview)
     select $1, at, gen_random_uuid(), 'direct', 'sim', 'm', 'm', 'success', false, 1, 1, 2, 3, 4, 0.1 + 0.2, 1e-7,
       $2, '' from unnest(array['2025-03-31T23:59:59.999999Z', '2025-04-01', '2020-01-01', 'now']::timestamptz[]) at`,
    [tenant, awkward],
  );
  for (let number = 0; number < 3; number += 1) await insertError(owner);
  await restoreWalls(owner);
  await owner.end();
}

/** What ownerView lifted. */
async function restoreWalls(owner: pg.Client): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(
    'select quote_ident(relname) as name from pg_class where relrowsecurity and not relforcerowsecurity',
  );
  for (const { name } of rows) await owner.query(`alter table ${name} force row level security`);
}

export async function insertError(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `insert into recent_errors (id, occurred_at, node, code, message)
     values (gen_random_uuid(), now(), 'one', 'x', 'y') returning number::int`,
  );
  return Number(rows[0]?.number);
}
