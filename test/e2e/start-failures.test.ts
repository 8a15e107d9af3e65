// A failing start prints one line with the fault, the place and the remedy, and ends.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { createEmptyDatabase, databaseOfFile } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { runCommand, runProgram } from '../support/servers/program.js';
import { sharedRedisUrl } from '../support/servers/redis.js';

const run = promisify(execFile);
const database = databaseOfFile(test);
/** Far longer than any of them takes on two busy cores, but finite. */
const endsWithinMs = 60_000;
const masterKey = Buffer.alloc(32, 5).toString('base64');
const isRoot = process.getuid?.() === 0;

async function folder(t: ExecutionContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'troupe-failure-'));
  await chmod(made, 0o755);
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Runs the command, and asserts that it ends with one line that contains every expected part, and no stack. */
async function fails(
  t: ExecutionContext,
  command: string,
  environment: Readonly<Record<string, string>>,
  ...expected: readonly RegExp[]
): Promise<void> {
  const settings = { TROUPE_HTTP_PORT: '0', TROUPE_GRPC_PORT: '0', ...environment };
  const program = runProgram('bin/troupe.mjs', [command], settings);
  t.teardown(() => program.process.kill('SIGKILL'));
  await eventually(() => program.process.exitCode !== null, { timeoutMs: endsWithinMs, what: command });
  t.is(await program.ended, 1, program.output());
  const lines = program
    .output()
    .split('\n')
    .filter((line) => line !== '');
  t.is(lines.length, 1, program.output());
  t.true(lines[0]?.startsWith(`troupe ${command}: `), program.output());
  for (const words of expected) t.regex(program.output(), words);
}

test.serial('an uncreatable data folder is reported with the reason and the setting', async (t) => {
  const outer = await folder(t);
  const file = join(outer, 'a-file');
  await writeFile(file, '');
  if (process.platform === 'linux') {
    await fails(
      t,
      'start',
      { TROUPE_DATA_DIR: '/proc/nope' },
      /\/proc\/nope cannot be used/,
      /TROUPE_DATA_DIR/,
    );
  }
  await fails(
    t,
    'start',
    { TROUPE_DATA_DIR: file },
    /a-file cannot be used: a file of that name is in the way/,
  );
  await fails(t, 'start', { TROUPE_DATA_DIR: join(file, 'below') }, /a file of that name is in the way/);
});

test.serial('a folder without write permission is reported, also if it exists', async (t) => {
  const outer = await folder(t);
  const there = join(outer, 'there');
  await mkdir(there, { mode: 0o755 });
  if (!isRoot) await chmod(outer, 0o555);
  if (!isRoot) await chmod(there, 0o555);
  t.teardown(() => chmod(outer, 0o755));
  const asSomebody = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env'];
  for (const dataDir of [there, join(outer, 'new')]) {
    const words = [...asSomebody.slice(1), process.execPath, 'bin/start.mjs'];
    const program = runCommand(asSomebody[0] ?? 'env', words, {
      TROUPE_DATA_DIR: dataDir,
      TROUPE_HTTP_PORT: '0',
    });
    t.is(await program.ended, 1, program.output());
    t.regex(
      program.output(),
      /cannot be used: this account may not write there\. Give it the folder \(chown\)/,
    );
    t.true(program.output().includes(dataDir), program.output());
  }
});

test.serial('a full disk is reported before a database is created on it', async (t) => {
  if (!isRoot || process.platform !== 'linux') {
    t.pass('a small disk needs root');
    return;
  }
  const place = await folder(t);
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', place]).then(
    () => true,
    () => false,
  );
  if (!mounted) {
    t.pass('this machine mounts nothing');
    return;
  }
  t.teardown(async () => void (await run('umount', [place])));
  await fails(t, 'start', { TROUPE_DATA_DIR: place }, /is full: \d+ MB are free, and 200 MB are needed/);
  t.deepEqual(await readdir(place), [], 'nothing is left on it');
});

async function listening(t: ExecutionContext, take: Parameters<typeof createServer>[1]): Promise<number> {
  const server: Server = createServer(take);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP listener has an address');
  return address.port;
}

test.serial('a port in use is reported with its setting, and nothing starts', async (t) => {
  const port = await listening(t, (socket) => socket.destroy());
  const dataDir = join(await folder(t), 'data');
  for (const variable of ['TROUPE_HTTP_PORT', 'TROUPE_GRPC_PORT']) {
    const environment = { TROUPE_DATA_DIR: dataDir, [variable]: String(port) };
    const says = [
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: another process listens there`),
      new RegExp(`set ${variable}`),
    ];
    await fails(t, 'start', environment, ...says);
    const services = {
      DATABASE_URL: database.url,
      REDIS_URL: 'redis://127.0.0.1:1',
      TROUPE_MASTER_KEY: masterKey,
    };
    await fails(t, 'serve', { ...environment, ...services }, ...says);
  }
  t.deepEqual(await readdir(dataDir), []);
});

test.serial('a second node on one data folder is told about the first, on any port', async (t) => {
  const dataDir = join(await folder(t), 'data');
  const first = runProgram('bin/start.mjs', [], { TROUPE_DATA_DIR: dataDir, TROUPE_HTTP_PORT: '0' });
  t.teardown(async () => {
    first.process.kill('SIGTERM');
    await first.ended;
  });
  await eventually(() => first.output().includes('Ctrl-C stops'), {
    timeoutMs: endsWithinMs,
    what: 'the first',
  });
  const port = /ready at http:\/\/127\.0\.0\.1:(\d+)/.exec(first.output())?.[1] ?? '';
  await fails(
    t,
    'start',
    { TROUPE_DATA_DIR: dataDir },
    /in use by a running PostgreSQL.*another TROUPE_DATA_DIR/,
  );
  await fails(
    t,
    'start',
    { TROUPE_DATA_DIR: dataDir, TROUPE_HTTP_PORT: port },
    /a node already runs on the data folder/,
    /set TROUPE_HTTP_PORT/,
  );
  t.is((await fetch(`http://127.0.0.1:${port}/health/live`)).status, 200, 'the first goes on');
});

test.serial(
  'every command that needs the database reports one that is unreachable, wrong or not PostgreSQL',
  async (t) => {
    const TROUPE_DATA_DIR = join(await folder(t), 'data');
    const silent = await listening(t, () => undefined);
    const other = await listening(
      t,
      (socket) => void socket.on('error', () => undefined).end('220 mail\r\n'),
    );
    const changed = (change: (url: URL) => void): string => {
      const url = new URL(database.url);
      change(url);
      return url.href;
    };
    const cases: readonly (readonly [string, RegExp])[] = [
      ['postgresql://a:planted-secret@127.0.0.1:1/x', /nothing listens on 127\.0\.0\.1:1/],
      ['postgresql://a:planted-secret@nowhere.invalid/x', /the host of nowhere\.invalid/],
      [`postgresql://a:planted-secret@127.0.0.1:${silent}/x`, /does not respond as expected/],
      [`postgresql://a:planted-secret@127.0.0.1:${other}/x`, /does not respond as expected/],
      [changed((url) => (url.password = 'planted-secret')), /refuses the user or the password/],
      [changed((url) => (url.pathname = '/no_such_database')), /has no database of this name/],
    ];
    for (const [DATABASE_URL, words] of cases) {
      const environment = { TROUPE_DATA_DIR, DATABASE_URL };
      const says = [/the server in DATABASE_URL cannot be used: /, words, /^(?:(?!planted).)*$/s];
      await fails(t, 'start', environment, ...says);
      await fails(t, 'migrate', environment, ...says);
    }
    const [url = '', words = /./] = cases[0] ?? [];
    const services = { DATABASE_URL: url, REDIS_URL: 'redis://127.0.0.1:1', TROUPE_MASTER_KEY: masterKey };
    await fails(t, 'serve', { TROUPE_DATA_DIR, ...services }, words);
  },
);

test.serial('a database or data folder of an unreleased version is refused with instructions', async (t) => {
  const says = [/The database "\w+" was set up by an earlier, unreleased version/, /empty data folder/];
  const { url } = await createEmptyDatabase(t);
  await markUnreleased(url);
  const TROUPE_DATA_DIR = join(await folder(t), 'data');
  for (const command of ['start', 'migrate']) {
    await fails(t, command, { TROUPE_DATA_DIR, DATABASE_URL: url }, ...says);
  }
  const services = { DATABASE_URL: url, REDIS_URL: await sharedRedisUrl(), TROUPE_MASTER_KEY: masterKey };
  await fails(t, 'serve', { TROUPE_DATA_DIR, ...services }, ...says);

  const older = join(await folder(t), 'older');
  const embedded = await startEmbeddedPostgres({ directory: join(older, 'postgres') });
  await markUnreleased(embedded.connectionString);
  await embedded.stop();
  await fails(t, 'start', { TROUPE_DATA_DIR: older }, ...says);
});

/** Records a file that no release has, as the versions before the first release did. */
async function markUnreleased(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create table schema_migrations (number int primary key, name text, checksum text);
    insert into schema_migrations values (1, '0001_foundation.sql', '')`);
  await client.end();
}

test.serial('a Redis that is unreachable or not Redis is reported', async (t) => {
  const TROUPE_DATA_DIR = join(await folder(t), 'data');
  const other = await listening(t, (socket) => void socket.on('error', () => undefined).end('220 mail\r\n'));
  const services = { TROUPE_DATA_DIR, DATABASE_URL: database.url, TROUPE_MASTER_KEY: masterKey };
  for (const [port, words] of [
    [1, /nothing listens on 127\.0\.0\.1:1/],
    [other, /does not respond as expected/],
  ] as const) {
    const environment = { ...services, REDIS_URL: `redis://:planted@127.0.0.1:${port}` };
    for (const command of ['start', 'serve']) {
      await fails(
        t,
        command,
        environment,
        /the server in REDIS_URL cannot be used: /,
        words,
        /^(?:(?!planted).)*$/s,
      );
    }
  }
});

test.serial('the doctor reports a folder that it cannot create, and ends', async (t) => {
  const doctor = runProgram('bin/troupe.mjs', ['doctor'], { TROUPE_DATA_DIR: '/proc/nope' });
  t.teardown(() => doctor.process.kill('SIGKILL'));
  await eventually(() => doctor.process.exitCode !== null, { timeoutMs: endsWithinMs, what: 'the doctor' });
  t.is(await doctor.ended, 1);
  t.regex(doctor.output(), /WRONG +data folder: the data folder \/proc\/nope cannot be used/);
  await t.throwsAsync(stat('/proc/nope'));
});
