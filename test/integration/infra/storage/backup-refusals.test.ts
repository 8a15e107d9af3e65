// Damaged backups, backups of other versions, and databases that are no place for a restore.
import { cp, mkdtemp, readFile, rm, truncate, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { BackupError, checkBackup } from '../../../../src/infra/storage/index.js';
import { backUp, connected, fill, folderFor, nothing, restore } from '../../../support/database/backups.js';
import { createDatabase, createEmptyDatabase, databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
let parent = '';

test.serial.before('a backup for this file', async () => {
  parent = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
  await fill(database.url);
  await backUp(database.url, join(parent, 'backup'));
});
test.after.always('the backup is removed', () => rm(parent, { recursive: true, force: true }));

async function copyOfBackup(t: ExecutionContext): Promise<string> {
  const folder = await folderFor(t);
  await cp(join(parent, 'backup'), folder, { recursive: true });
  return folder;
}

interface Damage {
  readonly what: string;
  readonly make: (folder: string) => Promise<void>;
  readonly failure: BackupError['failure'];
  readonly message: RegExp;
}

const usersFile = 'users.copy.gz';

interface ManifestText {
  format: number;
  readonly tables: { name: string }[];
  readonly migrations: object[];
}

async function changeManifest(folder: string, change: (manifest: ManifestText) => void): Promise<void> {
  const path = join(folder, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as ManifestText;
  change(manifest);
  await writeFile(path, JSON.stringify(manifest));
}

const damages: readonly Damage[] = [
  {
    what: 'a torn file',
    make: async (folder) => truncate(join(folder, usersFile), 20),
    failure: 'damaged',
    message: /users\.copy\.gz is damaged: it has 20 bytes instead of/,
  },
  {
    what: 'a changed byte',
    make: async (folder) => {
      const bytes = await readFile(join(folder, usersFile));
      bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30);
      await writeFile(join(folder, usersFile), bytes);
    },
    failure: 'damaged',
    message: /users\.copy\.gz is damaged: its content/,
  },
  {
    what: 'a missing file',
    make: (folder) => unlink(join(folder, usersFile)),
    failure: 'damaged',
    message: /users\.copy\.gz is damaged: it cannot be read/,
  },
  {
    what: 'a folder without a manifest',
    make: (folder) => unlink(join(folder, 'manifest.json')),
    failure: 'damaged',
    message: /there is no whole backup/,
  },
  {
    what: 'a torn manifest',
    make: (folder) => truncate(join(folder, 'manifest.json'), 100),
    failure: 'damaged',
    message: /manifest\.json is damaged: it is no JSON/,
  },
  {
    what: 'a table name that would leave the folder',
    make: (folder) =>
      changeManifest(folder, ({ tables: [first] }) => Object.assign(first ?? {}, { name: '../users' })),
    failure: 'damaged',
    message: /manifest\.json is damaged/,
  },
  {
    what: 'a newer format',
    make: (folder) => changeManifest(folder, (manifest) => (manifest.format = 2)),
    failure: 'other-format',
    message: /has format 2, and this version of Troupe reads format 1/,
  },
  {
    what: 'a newer schema',
    make: (folder) =>
      changeManifest(folder, ({ migrations }) =>
        migrations.push({ number: 9990, name: '9990_later.sql', checksum: 'x' }),
      ),
    failure: 'other-schema',
    message: /another version of Troupe \(it has 9990_later\.sql\)/,
  },
  {
    what: 'a schema without one of the former migrations',
    make: (folder) => changeManifest(folder, ({ migrations }) => migrations.splice(-2, 1)),
    failure: 'other-schema',
    message: /another version of Troupe \(it lacks \d+_\w+\.sql\)/,
  },
  {
    what: 'an earlier schema with another text of a migration',
    make: (folder) =>
      changeManifest(folder, (manifest) => {
        manifest.migrations.pop();
        Object.assign(manifest.migrations.at(-1) ?? {}, { checksum: 'x' });
      }),
    failure: 'other-schema',
    message: /another version of Troupe \(another text of \d+_\w+\.sql\)/,
  },
];

for (const { what, make, failure, message } of damages) {
  test(`${what} is refused before anything is touched`, async (t) => {
    const folder = await copyOfBackup(t);
    await make(folder);
    const error = await t.throwsAsync(checkBackup(folder, nothing), { instanceOf: BackupError, message });
    t.is(error?.failure, failure);
  });
}

async function refusedTarget(t: ExecutionContext, url: string): Promise<BackupError | undefined> {
  const folder = await copyOfBackup(t);
  return t.throwsAsync(restore(url, folder), { instanceOf: BackupError });
}

test('a database with rows is refused', async (t) => {
  const target = await createDatabase(t);
  await fill(target.url);
  const error = await refusedTarget(t, target.url);
  t.is(error?.failure, 'not-empty');
  t.regex(error?.message ?? '', /is not empty: .*\(calls\)/);
});

test('a database with tables of another program is refused', async (t) => {
  const target = await createEmptyDatabase(t);
  const owner = await connected(t, target.url);
  await owner.query('create table invoices (id int)');
  await owner.end();
  const error = await refusedTarget(t, target.url);
  t.is(error?.failure, 'not-empty');
  t.regex(error?.message ?? '', /\(invoices\)/);
});

test('a database that somebody is connected to is refused', async (t) => {
  const target = await createDatabase(t);
  await connected(t, target.url);
  const error = await refusedTarget(t, target.url);
  t.is(error?.failure, 'in-use');
  t.regex(error?.message ?? '', /Stop all nodes/);
});

test('a database of another version is refused, and not migrated', async (t) => {
  const target = await createDatabase(t);
  const owner = await connected(t, target.url);
  await owner.query(
    'delete from schema_migrations where number = (select max(number) from schema_migrations)',
  );
  await owner.end();
  t.is((await refusedTarget(t, target.url))?.failure, 'other-schema');
});
