// Backups: one snapshot in a folder, and a restore into an empty database that happens whole or not at all.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import {
  BackupError,
  checkBackup,
  migrate,
  migrationsDirectory,
  restoreBackup,
  type TableEntry,
} from '../../../../src/infra/storage/index.js';
import { readReleases } from '../../../../src/infra/storage/released-schema.js';
import {
  backUp,
  connected,
  fill,
  fingerprint,
  folderFor,
  insertError,
  masterKeys,
  nothing,
  restore,
  tenant,
  user,
} from '../../../support/database/backups.js';
import { eventually } from '../../../support/clocks/eventually.js';
import {
  createDatabase,
  createEmptyDatabase,
  serverUrl,
  type TestDatabase,
} from '../../../support/database/database.js';
import { dump, ownerView } from '../../../support/database/owner-view.js';

/** Walls, triggers and foreign keys, which a restore lifts for a while. */
async function structure(client: pg.Client): Promise<unknown> {
  const tables = await client.query(
    `select relname, relrowsecurity, relforcerowsecurity, pg_get_expr(relpartbound, oid) as bound from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
  );
  const triggers = await client.query(
    `select tgrelid::regclass::text as on, tgname, tgenabled from pg_trigger where not tgisinternal order by 1, 2`,
  );
  const keys = await client.query(
    `select conrelid::regclass::text as on, conname, convalidated, pg_get_constraintdef(oid) as definition
     from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`,
  );
  const policies = await client.query(
    `select * from pg_policies where schemaname = 'public' order by tablename, policyname`,
  );
  return [tables.rows, triggers.rows, keys.rows, policies.rows];
}

/** A restore that fails drops its connection, which uses the database until its backend has ended. */
async function unused(t: ExecutionContext, { name }: TestDatabase): Promise<void> {
  const server = await connected(t, serverUrl());
  const users = `select from pg_stat_activity where datname = $1 and backend_type = 'client backend'`;
  await eventually(async () => (await server.query(users, [name])).rowCount === 0, {
    what: 'nobody is connected',
  });
}

test('a restored database has the same rows, walls, triggers, keys and partitions', async (t) => {
  t.timeout(240_000);
  const source = await createDatabase(t);
  const target = await createEmptyDatabase(t);
  const folder = await folderFor(t);
  await fill(source.url);
  const seen: string[] = [];
  const manifest = await backUp(source.url, folder, { onTable: ({ name }) => void seen.push(name) });
  t.deepEqual(
    manifest.tables.map(({ name }) => name),
    seen,
  );
  t.is(manifest.tables.find(({ name }) => name === 'calls')?.rows, 4);
  t.deepEqual(manifest.master_keys, [fingerprint]);
  await restore(target.url, folder);

  const structures = await Promise.all(
    [source, target].map(async ({ url }) => structure(await connected(t, url))),
  );
  t.deepEqual(structures[1], structures[0]);
  const views = await Promise.all([source, target].map(({ url }) => ownerView(url)));
  for (const view of views) t.teardown(() => view.end());
  const [before = '', after = ''] = await Promise.all(views.map(dump));
  t.true(before.includes('drop table users'));
  const rowsOf = (text: string): readonly string[] =>
    text
      .split('\n')
      .filter((line) => !/_(?:migrations|functions):$|\.sql|^\(\d+,00/.test(line))
      .toSorted();
  t.deepEqual(rowsOf(after), rowsOf(before));
  t.is(await insertError(views[1] ?? t.fail()), 4, 'the numbers go on');
});

test('a backup of the first release is restored, and is then of this version', async (t) => {
  t.timeout(240_000);
  const [first] = await readReleases(migrationsDirectory);
  const through = Math.max(...Object.keys(first?.numbered ?? {}).map((name) => Number(name.slice(0, 4))));
  const source = await createEmptyDatabase(t);
  const [target, fresh] = [await createEmptyDatabase(t), await createDatabase(t)];
  const folder = await folderFor(t);
  const made = await migrate({ databaseUrl: source.url, through });
  t.deepEqual(made.applied, Object.keys(first?.numbered ?? {}));
  const owner = await ownerView(source.url);
  await owner.query(`insert into users (id, email, name) values ($1, 'a@test.example', 'Ann')`, [user]);
  await owner.query(`insert into tenants (id, name, made_by) values ($1, 'First', $2)`, [tenant, user]);
  await owner.query(
    `insert into calls (tenant_id, started_at, call_id, call_source, provider, model, first_model, status, from_cache,
       attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
       input_preview, output_preview)
     values ($1, '2025-03-31', $2, 'direct', 'sim', 'm', 'm', 'success', false, 1, 1, 2, 3, 4, 0.5, 7, 'in', 'out')`,
    [tenant, user],
  );
  await owner.end();
  await backUp(source.url, folder);
  await restore(target.url, folder);

  t.deepEqual((await migrate({ databaseUrl: target.url })).applied, [], 'nothing is left to migrate');
  const [restored, expected] = await Promise.all(
    [target, fresh].map(async ({ url }) => structure(await connected(t, url))),
  );
  t.deepEqual(restored, expected);
  const view = await ownerView(target.url);
  t.teardown(() => view.end());
  const { rows } = await view.query(
    'select u.name as user, t.name as tenant, c.output_preview from users u, tenants t, calls c',
  );
  t.deepEqual(rows, [{ user: 'Ann', tenant: 'First', output_preview: 'out' }]);
});

test('the files are for the owner alone, and nothing unfinished is left', async (t) => {
  const source = await createDatabase(t);
  const folder = await folderFor(t);
  await backUp(source.url, folder);
  t.is((await stat(folder)).mode & 0o777, 0o700);
  for (const name of await readdir(folder)) t.is((await stat(join(folder, name))).mode & 0o777, 0o600, name);
  t.deepEqual(await readdir(join(folder, '..')), ['backup']);
  await t.throwsAsync(backUp(source.url, folder), { instanceOf: BackupError, message: /exists already/ });
});

test('what commits while a backup runs is in no table of it', async (t) => {
  const source = await createDatabase(t);
  const folder = await folderFor(t);
  const writer = await ownerView(source.url);
  t.teardown(() => writer.end());
  let inserted = false;
  const onTable = async (table: TableEntry): Promise<void> => {
    if (inserted) return;
    inserted = true;
    t.true(table.name < 'tenants', 'both tables come later');
    await writer.query(`insert into users (id, email) values ($1, 'late@test.example')`, [user]);
    await writer.query(`insert into tenants (id, name, made_by) values ($1, 'late', $2)`, [tenant, user]);
    await insertError(writer);
  };
  const manifest = await backUp(source.url, folder, { onTable });
  t.true(inserted);
  const rowsOf = (table: string) => manifest.tables.find(({ name }) => name === table)?.rows;
  t.deepEqual([rowsOf('users'), rowsOf('tenants'), rowsOf('recent_errors')], [0, 0, 0]);
});

test('a backup that fails leaves no folder', async (t) => {
  const source = await createDatabase(t);
  const folder = await folderFor(t);
  const accept = (): never => {
    throw new Error('wrong key');
  };
  await t.throwsAsync(backUp(source.url, folder, { accept }), { message: 'wrong key' });
  const onTable = (): never => {
    throw new Error('gone');
  };
  await t.throwsAsync(backUp(source.url, folder, { onTable }), { message: 'gone' });
  t.deepEqual(await readdir(join(folder, '..')), []);
});

test('a file that cannot be written ends the backup in the middle of a large table', async (t) => {
  const source = await createDatabase(t);
  const folder = await folderFor(t);
  const owner = await connected(t, source.url);
  await owner.query(
    `insert into recent_errors (id, occurred_at, node, code, message)
     select gen_random_uuid(), now(), 'one', 'x', repeat('y', 100) from generate_series(1, 50000)`,
  );
  const onTable = async ({ name }: TableEntry): Promise<void> => {
    if (name !== 'realtime_events') return;
    const [draft = ''] = await readdir(join(folder, '..'));
    await mkdir(join(folder, '..', draft, 'recent_errors.copy.gz'));
  };
  const error = await t.throwsAsync(backUp(source.url, folder, { onTable }), { instanceOf: BackupError });
  t.regex(error?.message ?? '', /recent_errors\.copy\.gz cannot be written: /);
  t.deepEqual(await readdir(join(folder, '..')), []);
});

test('rows that the database refuses end the restore', async (t) => {
  t.timeout(240_000);
  const source = await createDatabase(t);
  const target = await createEmptyDatabase(t);
  const folder = await folderFor(t);
  await fill(source.url);
  await backUp(source.url, folder);
  const path = join(folder, 'users.copy.gz');
  const rows = gunzipSync(await readFile(path));
  const twice = gzipSync(Buffer.concat([rows, rows]));
  await writeFile(path, twice);
  const manifestPath = join(folder, 'manifest.json');
  const manifest = JSON.parse(await readFile(manifestPath, 'utf8')) as { tables: TableEntry[] };
  const sha256 = createHash('sha256').update(twice).digest('hex');
  const changed = { rows: 2, bytes: twice.length, sha256 };
  const tables = manifest.tables.map((table) => (table.name === 'users' ? { ...table, ...changed } : table));
  await writeFile(manifestPath, JSON.stringify({ ...manifest, tables }));
  await t.throwsAsync(restore(target.url, folder), { message: /duplicate key/ });
  const view = await connected(t, target.url);
  await view.query('set role troupe_backup');
  t.is((await view.query('select from tenants')).rowCount, 0);
});

test('a table that the role of backups cannot read is refused, not left out', async (t) => {
  const source = await createDatabase(t);
  const owner = await connected(t, source.url);
  await owner.query('create table later (tenant_id uuid primary key)');
  await owner.query('alter table later enable row level security');
  await owner.query('grant select on later to troupe_backup');
  await t.throwsAsync(backUp(source.url, await folderFor(t)), {
    instanceOf: BackupError,
    message: /troupe_backup cannot read later/,
  });
});

test('the policies of backups hold in no session of another role', async (t) => {
  const source = await createDatabase(t);
  await fill(source.url);
  const owner = await connected(t, source.url);
  const count = async (): Promise<number> =>
    Number((await owner.query('select count(*) from memberships')).rows[0]?.count);
  t.is(await count(), 0, 'the owner is bound');
  await owner.query('set role troupe_app');
  t.is(await count(), 0);
  await owner.query('set role troupe_backup');
  t.is(await count(), 1);
  await t.throwsAsync(owner.query('delete from memberships'), { message: /permission denied/ });
});

test('a restore that fails half-way leaves an empty database that can be restored into', async (t) => {
  t.timeout(240_000);
  const source = await createDatabase(t);
  const target = await createEmptyDatabase(t);
  const folder = await folderFor(t);
  await fill(source.url);
  await backUp(source.url, folder);
  const accept = (): never => {
    throw new Error('the key is not at hand');
  };
  // At the end of the transaction, after all rows.
  await t.throwsAsync(restore(target.url, folder, accept), { message: 'the key is not at hand' });
  const view = await connected(t, target.url);
  await view.query('set role troupe_backup');
  t.is((await view.query('select from users')).rowCount, 0);
  await view.end();
  await unused(t, target);

  // After the check, before the end: the last table's file is torn.
  const backup = await checkBackup(folder, nothing);
  const torn = join(folder, 'users.copy.gz');
  const whole = await readFile(torn);
  await truncate(torn, whole.length - 4);
  const parts = {
    backup,
    filledByMigrations: ['change_counter'],
    masterKeys,
    accept: nothing,
    onTable: nothing,
  };
  await t.throwsAsync(restoreBackup({ databaseUrl: target.url, ...parts }));
  await writeFile(torn, whole);
  await unused(t, target);
  await restore(target.url, folder);
  const restored = await connected(t, target.url);
  await restored.query('set role troupe_backup');
  t.is((await restored.query('select from users')).rowCount, 1);
});

test('an empty database that was migrated before is restored into', async (t) => {
  t.timeout(240_000);
  const source = await createDatabase(t);
  const target = await createEmptyDatabase(t);
  const folder = await folderFor(t);
  await fill(source.url);
  await backUp(source.url, folder);
  await migrate({ databaseUrl: target.url });
  await t.notThrowsAsync(restore(target.url, folder));
});
