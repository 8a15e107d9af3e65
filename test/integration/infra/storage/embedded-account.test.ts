import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { canReach, findAccount } from '../../../../src/infra/storage/embedded/account.js';
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from '../../../../src/infra/storage/embedded/index.js';
import { reachablePrograms } from '../../../../src/infra/storage/embedded/programs.js';

/** Only root has another account run PostgreSQL. */
const isRoot = process.getuid?.() === 0;
const somebody = { uid: 65_534, gid: 65_534 };

async function folder(t: ExecutionContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'troupe-account-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

test('missing data needs no other account, and an unreadable path is reported', async (t) => {
  const directory = await folder(t);
  await chmod(directory, 0o755);
  const file = join(directory, 'a-file');
  await writeFile(file, '');
  await t.notThrowsAsync(findAccount(join(directory, 'not-there')));
  if (isRoot) t.like(await t.throwsAsync(findAccount(file)), { code: 'ENOTDIR' });
  else t.is(await findAccount(file), undefined);
});

test('a closed folder or an unreadable file keeps the account out', async (t) => {
  const directory = await folder(t);
  const file = join(directory, 'a-file');
  await writeFile(file, '', { mode: 0o600 });
  await chmod(directory, 0o711);
  const stranger = { uid: (process.getuid?.() ?? 0) + 1, gid: (process.getgid?.() ?? 0) + 1 };
  t.true(await canReach(stranger, directory));
  t.false(await canReach(stranger, file));
  await chmod(file, 0o604);
  t.true(await canReach(stranger, file));
  await chmod(directory, 0o700);
  t.false(await canReach(stranger, file));
});

/** The lines of a process's status with its rights. */
async function rightsOf(pid: number): Promise<Record<string, string>> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const lines = status.split('\n').map((line) => line.split(':\t'));
  return Object.fromEntries(lines.map(([name = '', value = '']) => [name, value.trim()]));
}

test("started by root, PostgreSQL and its keeper run as another account without root's rights, and only its own folder changes owner", async (t) => {
  if (!isRoot || process.platform !== 'linux') {
    t.pass('only root has this to show');
    return;
  }
  const outer = await folder(t);
  const between = join(outer, 'data-dir');
  const directory = join(between, 'postgres');
  await mkdir(between, { mode: 0o700 });
  await writeFile(join(between, 'master.key'), 'x', { mode: 0o600 });
  const postgres = await startEmbeddedPostgres({ directory, flush: false });
  try {
    const pid = Number.parseInt(await readFile(join(directory, 'data', 'postmaster.pid'), 'utf8'), 10);
    const server = await rightsOf(pid);
    const keeper = await rightsOf(Number(server['PPid']));
    const { uid, gid } = await stat(join(directory, 'data'));
    t.not(uid, 0);
    for (const rights of [server, keeper]) {
      t.is(rights['Uid'], [uid, uid, uid, uid].join('\t'));
      t.is(rights['Gid'], [gid, gid, gid, gid].join('\t'));
      t.true(['', String(gid)].includes(rights['Groups'] ?? 'none'), rights['Groups']);
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) t.regex(rights[set] ?? '', /^0+$/, set);
    }
    t.is(server['NoNewPrivs'], '1');
    t.like(await stat(directory), { uid, gid });
    for (const path of [outer, between, join(between, 'master.key')]) {
      t.like(await stat(path), { uid: 0, gid: 0 }, path);
    }
    t.is((await stat(outer)).mode & 0o777, 0o700);
    t.is((await stat(between)).mode & 0o777, 0o700);
  } finally {
    await postgres.stop();
  }
  // Where an earlier account owns the data, the next start takes that one.
  const { uid } = await stat(join(directory, 'data'));
  const again = await startEmbeddedPostgres({ directory, flush: false });
  await again.stop();
  t.is((await stat(join(directory, 'data'))).uid, uid);
});

test('a folder with other content or another owner keeps its owner, also through a link', async (t) => {
  if (!isRoot) {
    t.pass('only root has this to show');
    return;
  }
  const outer = await folder(t);
  const foreign = join(outer, 'somebodys');
  await mkdir(foreign);
  await writeFile(join(foreign, 'a-file'), '');
  await symlink(foreign, join(outer, 'postgres'));
  for (const directory of [foreign, join(outer, 'postgres')]) {
    const error = await t.throwsAsync(startEmbeddedPostgres({ directory, flush: false }), {
      instanceOf: EmbeddedPostgresError,
    });
    t.is(error?.failure, 'foreign-folder');
    t.regex(error?.message ?? '', /somebodys must contain only PostgreSQL's data, but it holds a-file/);
    t.regex(error?.message ?? '', /TROUPE_DATA_DIR/);
    t.is((await stat(foreign)).uid, 0);
    t.is((await stat(join(foreign, 'a-file'))).uid, 0);
  }
});

test("programs out of the account's reach are copied once to a reachable folder that others cannot write", async (t) => {
  if (!isRoot) {
    t.pass('only root has this to show');
    return;
  }
  const outer = await folder(t);
  const native = join(outer, 'package', 'native');
  for (const name of ['bin', 'lib', 'share']) await mkdir(join(native, name), { recursive: true });
  await writeFile(join(outer, 'package', 'package.json'), '{"version": "18.4.0"}');
  const programOf = (name: string): string => join(native, 'bin', name);
  for (const name of ['initdb', 'postgres', 'pg_ctl'])
    await writeFile(programOf(name), name, { mode: 0o700 });
  await symlink('postgres', programOf('postmaster'));
  const binaries = {
    initdb: programOf('initdb'),
    postgres: programOf('postgres'),
    pgCtl: programOf('pg_ctl'),
  };
  const caches = await mkdtemp(join(tmpdir(), 'troupe-cache-'));
  t.teardown(() => rm(caches, { recursive: true, force: true }));
  await chmod(caches, 0o755);
  const cache = join(caches, 'troupe');

  const copied = await reachablePrograms(somebody, binaries, cache);
  t.true(copied.postgres.startsWith(`${cache}/postgres-18.4.0-`));
  for (const path of Object.values(copied)) t.true(await canReach(somebody, path), path);
  t.is(await readFile(copied.initdb, 'utf8'), 'initdb');
  const madeAt = (await stat(copied.postgres)).ino;
  t.deepEqual(await reachablePrograms(somebody, binaries, cache), copied);
  t.is((await stat(copied.postgres)).ino, madeAt, 'the copy of the first start is used again');

  await chown(cache, somebody.uid, somebody.gid);
  const refused = await t.throwsAsync(reachablePrograms(somebody, binaries, cache));
  t.like(refused, { failure: 'no-account' });
  t.regex(refused?.message ?? '', /Start as an ordinary user, install in a folder that everyone may enter/);
});
