// Who runs PostgreSQL. It refuses to run as root, so a node started by root lends it another account.
// That account often cannot walk down to the programs or the data (a clone under /root, a directory of
// mode 0700). Then `setpriv` starts it as that account with the two capabilities that let it walk and
// read, and nothing else of root's.
import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './errors.js';

const run = promisify(execFile);

export type Account = { readonly uid: number; readonly gid: number };

/** How to start a program of PostgreSQL: put `prefix` before it, and hand `identity` to spawn. */
export type Launch = {
  readonly account: Account | undefined;
  readonly prefix: readonly string[];
  readonly identity: { readonly uid?: number; readonly gid?: number };
};

const capabilities = '+dac_override,+dac_read_search';

/** Decides how programs at `paths` are started for data that lies under `directory`. */
export async function planLaunch(directory: string, paths: readonly string[]): Promise<Launch> {
  if (process.getuid?.() !== 0) return { account: undefined, prefix: [], identity: {} };
  const account =
    (await ownerOf(`${directory}/data`)) ?? (await ownerOf(directory)) ?? (await sparesAccount());
  const reachable = await Promise.all([dirname(directory), ...paths].map((path) => canReach(account, path)));
  if (reachable.every(Boolean)) return { account, prefix: [], identity: account };
  const prefix = [
    'setpriv',
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    '--securebits=+no_setuid_fixup',
    `--inh-caps=${capabilities}`,
    `--ambient-caps=${capabilities}`,
  ];
  try {
    await run('setpriv', [...prefix.slice(1), 'true']);
  } catch (error) {
    throw new EmbeddedPostgresError(
      'no-account',
      `PostgreSQL does not run as root, and the account with user id ${account.uid}, which would run it, cannot ` +
        `reach ${directory} or ${paths[0] ?? 'the programs'}. Start as an ordinary user, or move both under ` +
        'directories that everyone may pass (mode 0711 or more), or set DATABASE_URL.',
      { cause: error },
    );
  }
  return { account, prefix, identity: {} };
}

async function ownerOf(path: string): Promise<Account | undefined> {
  const found = await statIfThere(path);
  return found === undefined || found.uid === 0 ? undefined : { uid: found.uid, gid: found.gid };
}

/** What is not there yet has no owner to follow and keeps nobody out; anything else that goes wrong is said. */
async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return undefined;
    throw error;
  }
}

async function sparesAccount(): Promise<Account> {
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // `id` fails for an account that does not exist: try the next one.
    }
  }
  throw new EmbeddedPostgresError(
    'no-account',
    'PostgreSQL does not run as root, and this machine has neither an account "postgres" nor "nobody". ' +
      'Start as an ordinary user, or set DATABASE_URL.',
  );
}

/** Judged by mode bits alone; a stricter rule of the system shows itself when the program is started. */
async function canReach(account: Account, path: string): Promise<boolean> {
  for (let current = path; ; current = dirname(current)) {
    const found = await statIfThere(current);
    if (found !== undefined) {
      const shift = found.uid === account.uid ? 6 : found.gid === account.gid ? 3 : 0;
      if (((found.mode >> shift) & 0o1) === 0) return false;
    }
    if (dirname(current) === current) return true;
  }
}
