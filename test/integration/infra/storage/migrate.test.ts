// Migrations against real databases: concurrent, changed, newer, unsupported, refused.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { migrate, MigrationError, migrationsDirectory } from '../../../../src/infra/storage/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { createEmptyDatabase } from '../../../support/database/database.js';
import { waitersFor } from '../../../support/database/lock-waiters.js';

async function folder(t: ExecutionContext, files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-migrations-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await write(directory, files);
  return directory;
}

async function write(directory: string, files: Record<string, string>): Promise<void> {
  await mkdir(join(directory, 'functions'), { recursive: true });
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

async function sqlFiles(directory: string): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
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
  const functions = await sqlFiles(join(migrationsDirectory, 'functions'));
  t.true(functions.length > 0);
  const files = [...(await sqlFiles(migrationsDirectory)), ...functions.map((name) => `functions/${name}`)];
  for (const { code, output } of outcomes) t.is(code, 0, output);
  const applied = outcomes.flatMap(({ output }) => JSON.parse(output) as string[]).sort();
  t.deepEqual(applied, files.toSorted());
});

test('databases of one server that are migrated at once do not conflict over the roles', async (t) => {
  const databases = await Promise.all([1, 2, 3, 4].map(() => createEmptyDatabase(t)));
  const results = await Promise.all(databases.map(({ url }) => migrate({ databaseUrl: url })));
  for (const { applied } of results) t.true(applied.length > 0);
});

test('new files are applied in numerical order', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, {
    '0010_second.sql': "insert into steps values ('second');",
    '0002_first.sql': "create table steps (name text); insert into steps values ('first');",
  });
  t.deepEqual(await migrate({ databaseUrl: url, directory }), {
    applied: ['0002_first.sql', '0010_second.sql'],
    version: 10,
    isNewer: false,
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

test('a failing file leaves nothing behind, and earlier ones stay applied', async (t) => {
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

test('the failed file is named although its connection has ended', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_cut.sql': 'select pg_terminate_backend(pg_backend_pid());' });
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'failed');
  t.regex(error.message, /0001_cut\.sql/);
});

test('a process that waits long for another one says for whom', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'create table one (id int);' });
  const holder = new pg.Client({ connectionString: url, application_name: 'holder' });
  await holder.connect();
  t.teardown(() => holder.end());
  const { rows } = await holder.query<{ pid: number }>(
    'select pg_backend_pid() as pid, pg_advisory_lock(5021873901)',
  );
  const notes: { what: string; facts: object }[] = [];
  let pausedMs = 0;
  const { applied } = await migrate({
    databaseUrl: url,
    directory,
    note: (what, facts) => notes.push({ what, facts }),
    pause: async (ms) => {
      pausedMs += ms;
      if (pausedMs === 100_000) await holder.query('select pg_advisory_unlock_all()');
    },
  });
  t.deepEqual(applied, ['0001_one.sql']);
  t.is(notes.length, 2, 'after 10 seconds, and after a minute more');
  t.is(notes[0]?.what, 'waiting for another process that migrates the database');
  t.like(notes[0]?.facts, { pid: rows[0]?.pid, application: 'holder' });
});

test('both ends of the connection notice that the other one is gone', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, {
    '0001_kept.sql': "create table kept as select current_setting('tcp_keepalives_idle') as idle;",
  });
  const asked: unknown[] = [];
  const { setKeepAlive } = Socket.prototype;
  Socket.prototype.setKeepAlive = function keepAlive(this: Socket, ...given) {
    asked.push(given);
    return setKeepAlive.apply(this, given);
  };
  try {
    await migrate({ databaseUrl: url, directory });
  } finally {
    Socket.prototype.setKeepAlive = setKeepAlive;
  }
  t.deepEqual(asked[0], [true, 30_000]);
  t.deepEqual(await rowsOf(url, 'select idle from kept'), [{ idle: '30' }]);
});

test('a file outside a transaction builds its index beside writes, and again if it was cut off', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const builds = `-- outside a transaction: rows are written meanwhile; and they are
drop index concurrently if exists by_id;
create index concurrently by_id on rows (id);\n`;
  const directory = await folder(t, {
    '0001_rows.sql': 'create table rows (id int);',
    '0002_cut_off.sql': `${builds}insert into nowhere values (1);\n`,
  });
  await refusal(t, migrate({ databaseUrl: url, directory }));
  t.deepEqual(await rowsOf(url, 'select name from schema_migrations'), [{ name: '0001_rows.sql' }]);
  await write(directory, { '0002_cut_off.sql': builds });
  const writer = new pg.Client({ connectionString: url });
  await writer.connect();
  t.teardown(() => writer.end());
  await writer.query('begin; insert into rows values (1)');
  const migrating = migrate({ databaseUrl: url, directory });
  await eventually(async () => (await waitersFor(writer)).length > 0, { what: 'the build waits' });
  // Another node that starts waits too, and is in the way of nobody.
  const beside = migrate({ databaseUrl: url, directory });
  await rowsOf(url, "set lock_timeout = '5s'; insert into rows values (2)");
  await writer.query('commit');
  t.deepEqual([...(await migrating).applied, ...(await beside).applied], ['0002_cut_off.sql']);
  t.deepEqual(await rowsOf(url, "select indisvalid from pg_index where indexrelid = 'by_id'::regclass"), [
    { indisvalid: true },
  ]);
});

test('a file changed after it was applied is refused by name', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'create table one (id int);' });
  await migrate({ databaseUrl: url, directory });
  await write(directory, { '0001_one.sql': 'create table one (id bigint);' });
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'changed');
  t.regex(error.message, /0001_one\.sql/);
});

test('different line ends are not a change', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'create table one\n(id int);\n' });
  await migrate({ databaseUrl: url, directory });
  await write(directory, { '0001_one.sql': 'create table one\r\n(id int);\r\n' });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, []);
});

test('a database newer than the code is refused, except during a rolling upgrade', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'select 1;', '0002_two.sql': 'select 2;' });
  await migrate({ databaseUrl: url, directory });
  await rm(join(directory, '0002_two.sql'));
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'newer-database');
  t.regex(error.message, /0002_two\.sql/);
  t.deepEqual(await migrate({ databaseUrl: url, directory, acceptNewer: true }), {
    applied: [],
    version: 1,
    isNewer: true,
  });
});

test('a database serves nodes of the release before its own, and refuses older ones by name', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const release = (version: string, name: string) => ({
    version,
    protocol: 1,
    numbered: { [name]: '' },
    functions: {},
  });
  const files = { '0001_one.sql': 'select 1;', '0002_two.sql': 'select 2;', '0003_three.sql': 'select 3;' };
  const third = await folder(t, {
    ...files,
    'released.json': JSON.stringify([release('0.1.0', '0001_one.sql'), release('0.2.0', '0002_two.sql')]),
  });
  await migrate({ databaseUrl: url, directory: third });
  const { '0001_one.sql': one, '0002_two.sql': two } = files;
  const second = await folder(t, { '0001_one.sql': one, '0002_two.sql': two });
  t.deepEqual(await migrate({ databaseUrl: url, directory: second, acceptNewer: true }), {
    applied: [],
    version: 2,
    isNewer: true,
  });
  const first = await folder(t, { '0001_one.sql': one });
  const error = await refusal(t, migrate({ databaseUrl: url, directory: first, acceptNewer: true }));
  t.is(error.failure, 'newer-database');
  t.regex(error.message, /0003_three\.sql.*schema 2 or a later one; this version knows schema 1\b/);
});

test('a database that version 0.1 migrated gets the column that it lacks', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { '0001_one.sql': 'select 1;' });
  await migrate({ databaseUrl: url, directory });
  await rowsOf(url, 'alter table schema_migrations drop column serves_from');
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, []);
  await write(directory, { '0002_two.sql': 'select 2;' });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, ['0002_two.sql']);
  t.deepEqual(await rowsOf(url, 'select number, serves_from from schema_migrations order by number'), [
    { number: 1, serves_from: 0 },
    { number: 2, serves_from: 0 },
  ]);
});

const answer = (value: number, comment = ''): string =>
  `${comment}create or replace function answer() returns int language sql as 'select ${value}';`;

test('functions are applied after the numbered files, and again only when their text changes', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, {
    '0010_tables.sql': 'create table things (id int);',
    'functions/answer.sql': answer(41),
    'functions/count_things.sql':
      "create or replace function count_things() returns bigint language sql as 'select count(*) from things';",
  });
  t.deepEqual(await migrate({ databaseUrl: url, directory }), {
    applied: ['0010_tables.sql', 'functions/answer.sql', 'functions/count_things.sql'],
    version: 10,
    isNewer: false,
  });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, []);
  await write(directory, { 'functions/answer.sql': answer(42) });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, ['functions/answer.sql']);
  t.deepEqual(await rowsOf(url, 'select answer()'), [{ answer: 42 }]);
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, []);
});

test('an older node does not restore the former text of a function', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const older = await folder(t, { '0010_tables.sql': 'select 1;', 'functions/answer.sql': answer(41) });
  const newer = await folder(t, { '0010_tables.sql': 'select 1;', 'functions/answer.sql': answer(42) });
  await migrate({ databaseUrl: url, directory: older });
  await migrate({ databaseUrl: url, directory: newer });
  t.deepEqual((await migrate({ databaseUrl: url, directory: older, acceptNewer: true })).applied, []);
  t.deepEqual(await rowsOf(url, 'select answer()'), [{ answer: 42 }]);
});

test('a node older than the tables applies no functions', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const newer = await folder(t, {
    '0010_one.sql': 'select 1;',
    '0020_two.sql': 'select 2;',
    'functions/answer.sql': answer(42),
  });
  await migrate({ databaseUrl: url, directory: newer });
  const older = await folder(t, { '0010_one.sql': 'select 1;', 'functions/answer.sql': answer(41) });
  t.deepEqual((await migrate({ databaseUrl: url, directory: older, acceptNewer: true })).applied, []);
  t.deepEqual(await rowsOf(url, 'select answer()'), [{ answer: 42 }]);
});

test('two nodes that apply a changed function at once apply it once', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { 'functions/answer.sql': answer(41) });
  await migrate({ databaseUrl: url, directory });
  await write(directory, { 'functions/answer.sql': answer(42, 'select pg_sleep(0.2);') });
  const results = await Promise.all([1, 2].map(() => migrate({ databaseUrl: url, directory })));
  t.deepEqual(
    results.flatMap(({ applied }) => applied),
    ['functions/answer.sql'],
  );
});

test('a failing function keeps its former text, and is applied once corrected', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const directory = await folder(t, { 'functions/answer.sql': answer(41) });
  await migrate({ databaseUrl: url, directory });
  await write(directory, { 'functions/answer.sql': `${answer(42)} select nothing_like_it();` });
  const error = await refusal(t, migrate({ databaseUrl: url, directory }));
  t.is(error.failure, 'failed');
  t.regex(error.message, /functions\/answer\.sql/);
  t.deepEqual(await rowsOf(url, 'select answer()'), [{ answer: 41 }]);
  await write(directory, { 'functions/answer.sql': answer(43) });
  t.deepEqual((await migrate({ databaseUrl: url, directory })).applied, ['functions/answer.sql']);
});

test('the functions of this version can be applied to a database that has them', async (t) => {
  const { url } = await createEmptyDatabase(t);
  await migrate({ databaseUrl: url });
  await rowsOf(url, "update schema_functions set checksum = 'another'");
  const functions = await sqlFiles(join(migrationsDirectory, 'functions'));
  t.deepEqual(
    (await migrate({ databaseUrl: url })).applied,
    functions.map((name) => `functions/${name}`),
  );
});

test('a database of an unreleased version is refused by name and not changed', async (t) => {
  const { url, name } = await createEmptyDatabase(t);
  // The last file has a higher number than any of this version, and another the name of one of them.
  const before = await folder(t, {
    '0001_foundation.sql': 'create table tenants (id int);',
    '0010_identity.sql': 'select 1;',
    '9000_later.sql': 'select 2;',
  });
  await migrate({ databaseUrl: url, directory: before });
  for (const acceptNewer of [false, true]) {
    const error = await refusal(t, migrate({ databaseUrl: url, acceptNewer }));
    t.is(error.failure, 'unsupported-database');
    t.true(error.message.includes(`"${name}"`), error.message);
    t.regex(error.message, /0001_foundation\.sql.*DATABASE_URL.*TROUPE_DATA_DIR/);
  }
  t.deepEqual(await rowsOf(url, 'select count(*)::int as files from schema_migrations'), [{ files: 3 }]);
});

test('files with equal numbers or invalid names are refused', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const twice = await folder(t, { '0001_one.sql': 'select 1;', '0001_two.sql': 'select 2;' });
  t.is((await refusal(t, migrate({ databaseUrl: url, directory: twice }))).failure, 'bad-file');
  const nameless = await folder(t, { 'one.sql': 'select 1;' });
  t.is((await refusal(t, migrate({ databaseUrl: url, directory: nameless }))).failure, 'bad-file');
});

test('a user without the rights for migrations is told which grants are missing', async (t) => {
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

test('an unreachable database is unavailable and may be retried', async (t) => {
  const { url } = await createEmptyDatabase(t);
  const nowhere = new URL(url);
  nowhere.port = '1';
  await t.throwsAsync(migrate({ databaseUrl: nowhere.href }), { name: 'StoreError', message: /unavailable/ });
});
