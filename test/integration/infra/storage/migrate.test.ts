// Migrations against real databases: raced, changed, newer, refused.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { migrate, MigrationError, migrationsDirectory } from '../../../../src/infra/storage/index.js';
import { createEmptyDatabase } from '../../../support/database/database.js';

async function folder(t: ExecutionContext, files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-migrations-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await write(directory, files);
  return directory;
}

async function write(directory: string, files: Record<string, string>): Promise<void> {
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)));
}

async function rowsOf(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<MigrationError> {
  const error = await t.throwsAsync(work, { instanceOf: MigrationError });
  if (error === undefined) throw new Error('the migration was not refused');
  return error;
}

test('four processes that migrate one new database at once apply each file once, and all succeed', async (t) => {
  const database = await createEmptyDatabase(t);
  const runner = fileURLToPath(new URL('../../../support/servers/migrate-process.js', import.meta.url));
  const outcomes = await Promise.all(
    [1, 2, 3, 4].map(
      () =>
        new Promise<{ code: number | null; output: string }>((resolve) => {
          const child = spawn(process.execPath, [runner, database.url]);
          let output = '';
          child.stdout.on('data', (text: Buffer) => (output += text.toString()));
          child.stderr.on('data', (text: Buffer) => (output += text.toString()));
          child.on('close', (code) => resolve({ code, output }));
        }),
    ),
  );
  const files = (await readdir(migrationsDirectory)).filter((name) => name.endsWith('.sql')).sort();
  for (const { code, output } of outcomes) t.is(code, 0, output);
  const applied = outcomes.flatMap(({ output }) => JSON.parse(output) as string[]).sort();
  t.deepEqual(applied, files);
});

test('databases of one server that are migrated at once do not disturb each other over the roles', async (t) => {
  const databases = await Promise.all([1, 2, 3, 4].map(() => createEmptyDatabase(t)));
  const results = await Promise.all(databases.map(({ url }) => migrate({ databaseUrl: url })));
  for (const { applied } of results) t.true(applied.length > 0);
});

test('files are applied in the order of their numbers, and only those that are new', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, {
    '0010_second.sql': "insert into steps values ('second');",
    '0002_first.sql': "create table steps (name text); insert into steps values ('first');",
  });
  t.deepEqual(await migrate({ databaseUrl: url, directory }), {
    applied: ['0002_first.sql', '0010_second.sql'],
    version: 10,
  });
  await write(directory, { '0011_third.sql': "insert into steps values ('third');" });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, ['0011_third.sql']);
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, []);
  t.deepEqual(await rowsOf(url, 'select name from steps'), [
    { name: 'first' },
    { name: 'second' },
    { name: 'third' },
  ]);
});

test('a file that fails leaves nothing behind, and those before it stay', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, {
    '0001_good.sql': 'create table good (id int);',
    '0002_bad.sql': 'create table half (id int); insert into nowhere values (1);',
  });
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'failed');
  t.regex(error.message, /0002_bad\.sql/);
  t.deepEqual(await rowsOf(url, "select to_regclass('half') as half, to_regclass('good')::text as good"), [
    { half: null, good: 'good' },
  ]);
  await write(directory, { '0002_bad.sql': 'create table half (id int);' });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, ['0002_bad.sql']);
});

test('a file that was changed after it had been applied is refused by name', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'create table one (id int);' });
  await migrate({ databaseUrl: url, directory });
  await write(directory, { '0001_one.sql': 'create table one (id bigint);' });
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'changed');
  t.regex(error.message, /0001_one\.sql/);
});

test('other line ends are no change', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'create table one\n(id int);\n' });
  await migrate({ databaseUrl: url, directory });
  await write(directory, { '0001_one.sql': 'create table one\r\n(id int);\r\n' });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, []);
});

test('a database newer than the code is refused, unless an upgrade is rolling', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'select 1;', '0002_two.sql': 'select 2;' });
  await migrate({ databaseUrl: url, directory });
  await rm(join(directory, '0002_two.sql'));
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'newer-database');
  t.regex(error.message, /0002_two\.sql/);
  t.deepEqual(await migrate({ databaseUrl: url, directory, acceptNewer: true }), { applied: [], version: 1 });
});

test('files of one number, and names that are none, are refused', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const twice = await folder(t, { '0001_one.sql': 'select 1;', '0001_two.sql': 'select 2;' });
  t.is((await refusal(t, migrate({ databaseUrl: url, directory: twice }))).failure, 'bad-file');
  const nameless = await folder(t, { 'one.sql': 'select 1;' });
  t.is((await refusal(t, migrate({ databaseUrl: url, directory: nameless }))).failure, 'bad-file');
});

test('a user who may not create what migrations need is told what to grant', async (t) => {
  const { url, name } = await createEmptyDatabase(t);
  const user = `${name}_guest`;
  await rowsOf(url, `create role ${user} login password 'guest'`);
  t.teardown(
    async () => void (await rowsOf(process.env['TROUPE_TEST_DATABASE_URL'] ?? '', `drop role ${user}`)),
  );
  const guest = new URL(url);
  guest.username = user;
  guest.password = 'guest';
  const error = await refusal(t, migrate({ databaseUrl: guest.href }));
  t.is(error.failure, 'privileges');
  t.regex(error.message, new RegExp(`alter role "${user}" createrole`));
});

test('a database that cannot be reached is unavailable, and may be tried again', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const nowhere = new URL(url);
  nowhere.port = '1';
  await t.throwsAsync(migrate({ databaseUrl: nowhere.href }), { name: 'StoreError', message: /unavailable/ });
});
