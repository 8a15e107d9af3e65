// Creates a data directory. All work is done in a temporary directory beside it that is renamed at the end, so that a
// start killed half-way leaves nothing that looks finished, and one of two concurrent starts wins.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './errors.js';
import type { Launch } from './launch.js';
import { childEnvironment } from './postmaster.js';

const run = promisify(execFile);

/** The application's account and database. Not a superuser, so that nothing works here that would fail elsewhere. */
export const applicationRole = 'troupe';
export const applicationDatabase = 'troupe';
const superuser = 'postgres';
export const passwordFile = 'troupe.password';
const version = '18';

export type InitialiseOptions = {
  readonly directory: string;
  readonly binaries: Binaries;
  readonly launch: Launch;
  /** Whether the new files are flushed to disk before use. Without it the first start is faster. */
  readonly flush: boolean;
};

/**
 * The data directory relative to this process. The keeper's working directory is the folder above, which it may not be
 * able to reach by its full path.
 */
export const dataFolder = 'data';

/** Creates the data directory if it is missing, and returns its full path and the application's password. */
export async function initialise(options: InitialiseOptions): Promise<{ data: string; password: string }> {
  const data = join(options.directory, dataFolder);
  if (!(await isInitialised())) await make(options);
  const found = (await readFile(join(dataFolder, 'PG_VERSION'), 'utf8')).trim();
  if (found !== version) {
    throw new EmbeddedPostgresError(
      'wrong-version',
      `${data} was created by PostgreSQL ${found}, but this package contains ${version}. Dump it with the old ` +
        'version and restore it here, or choose another TROUPE_DATA_DIR.',
    );
  }
  return { data, password: (await readFile(join(dataFolder, passwordFile), 'utf8')).trim() };
}

async function isInitialised(): Promise<boolean> {
  try {
    await readFile(join(dataFolder, passwordFile));
    return true;
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return false;
    throw error;
  }
}

async function make({ directory, binaries, launch, flush }: InitialiseOptions): Promise<void> {
  const unfinished = `${dataFolder}.${randomBytes(6).toString('hex')}.unfinished`;
  const named = launch.dataName(join(directory, unfinished));
  const program = (binary: string, ...args: string[]): [string, string[]] => {
    const [command, ...rest] = [...launch.prefix, binary, ...args];
    return [command ?? binary, rest];
  };
  const settings = { cwd: unfinished, env: childEnvironment() };
  try {
    await mkdir(unfinished, { mode: 0o700 });
    // initdb requires a password; this one is never used (the superuser's is removed below).
    await writeFile(`${unfinished}.password`, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
    await run(
      ...program(
        binaries.initdb,
        `--pgdata=${named}`,
        `--username=${superuser}`,
        '--auth=scram-sha-256',
        `--pwfile=${join('..', `${unfinished}.password`)}`,
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-sync',
        '--no-instructions',
      ),
      settings,
    );
    const password = randomBytes(32).toString('base64url');
    await single(...program(binaries.postgres, '--single', '-D', named, 'postgres'), settings, [
      `alter role ${superuser} password null`,
      `create role ${applicationRole} login createdb createrole password '${password}'`,
      `create database ${applicationDatabase} owner ${applicationRole}`,
    ]);
    await writeFile(join(unfinished, passwordFile), `${password}\n`, { mode: 0o600 });
    if (flush) await run(...program(binaries.initdb, `--pgdata=${named}`, '--sync-only'), settings);
    await rename(unfinished, dataFolder);
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true });
    if (await isInitialised()) return; // a concurrent start was faster
    throw new EmbeddedPostgresError(
      'not-started',
      `PostgreSQL's data directory cannot be created in ${directory}`,
      { cause },
    );
  } finally {
    await rm(`${unfinished}.password`, { force: true });
  }
}

/** Runs statements, one per line, in PostgreSQL's single-user mode: without server, port or superuser password. */
async function single(
  command: string,
  args: string[],
  settings: object,
  statements: readonly string[],
): Promise<void> {
  const child = spawn(command, args, { ...settings, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  child.stdin.end(`${statements.join('\n')}\n`);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // Single-user mode continues after a failed statement, so the exit code is not enough.
  if (code !== 0 || /\b(?:ERROR|FATAL):/.test(output)) {
    throw new Error(`single-user mode failed: ${/(?:ERROR|FATAL):.*/.exec(output)?.[0] ?? `exit ${code}`}`);
  }
}
