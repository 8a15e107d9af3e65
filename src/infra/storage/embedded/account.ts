// The account that runs PostgreSQL. PostgreSQL refuses to run as root, so the keeper of a node started by root switches
// to another account before it touches the data, and drops all groups and capabilities of root.
import { execFile } from 'node:child_process';
import { readFileSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './errors.js';

const run = promisify(execFile);

export type Account = { readonly uid: number; readonly gid: number };

/**
 * The account for the data under `directory` if this process runs as root: the owner of existing data, otherwise a
 * suitable system account. Undefined if an ordinary user runs PostgreSQL itself.
 */
export async function findAccount(directory: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  return (await ownerOf(`${directory}/data`)) ?? (await ownerOf(directory)) ?? (await sparesAccount());
}

async function ownerOf(path: string): Promise<Account | undefined> {
  const found = await statIfThere(path);
  return found === undefined || found.uid === 0 ? undefined : { uid: found.uid, gid: found.gid };
}

/** A missing path has no owner and blocks nobody; any other error is thrown. */
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

/** Checks only mode bits; a stricter system rule shows when the program is started. */
export async function canReach(account: Account, path: string): Promise<boolean> {
  for (let current = path; ; current = dirname(current)) {
    const found = await statIfThere(current);
    if (found !== undefined && !mayPass(account, found, current === path && found.isFile() ? 0o4 : 0o1)) {
      return false;
    }
    if (dirname(current) === current) return true;
  }
}

function mayPass(account: Account, found: Stats, wanted: number): boolean {
  const shift = found.uid === account.uid ? 6 : found.gid === account.gid ? 3 : 0;
  return ((found.mode >> shift) & wanted) !== 0;
}

/** Switches this whole process to the account permanently. Throws if any right of root is left. */
export function become(account: Account): void {
  process.setgroups?.([]);
  process.setgid?.(account.gid);
  process.setuid?.(account.uid);
  const left = [
    ...(process.geteuid?.() === account.uid ? [] : ['its user id']),
    ...(process.getgroups?.().every((group) => group === account.gid) === false ? ['its groups'] : []),
    ...capabilitiesLeft(),
  ];
  if (left.length > 0) {
    throw new EmbeddedPostgresError(
      'no-account',
      `The process that starts PostgreSQL could not drop the rights of root (${left.join(', ')}). ` +
        'Start as an ordinary user, or set DATABASE_URL.',
    );
  }
}

/** A process set to keep its capabilities across a change of user still has them. */
function capabilitiesLeft(): readonly string[] {
  if (process.platform !== 'linux') return [];
  const status = readFileSync('/proc/self/status', 'utf8');
  return ['CapPrm', 'CapEff', 'CapAmb'].filter((name) => !new RegExp(`^${name}:\\s+0+$`, 'm').test(status));
}
