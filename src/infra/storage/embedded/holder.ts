// Who holds a data directory. PostgreSQL's own postmaster.pid is the lock; the process tree tells what
// stands behind it, because a file of our own would be stale exactly when it matters (after kill -9).
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Holder =
  | { readonly state: 'none' }
  /** A living node uses it. */
  | { readonly state: 'in-use'; readonly pid: number }
  /** Its node is gone and its keeper is about to stop it. */
  | { readonly state: 'stopping'; readonly pid: number }
  /** Its keeper is gone too: nobody will stop it unless we do. */
  | { readonly state: 'orphaned'; readonly pid: number }
  /** Alive, and this system does not tell whose it is. */
  | { readonly state: 'unknown'; readonly pid: number };

type ProcessFacts = { readonly parentPid: number; readonly commandLine: string };

/** Marks the keeper in the process list, together with the node that it serves. */
export const keeperMark = 'troupe-postgres-keeper';

/** `dataDirectory` is how its PostgreSQL was told of it, `reachedAs` how this process reaches it. */
export async function findHolder(dataDirectory: string, reachedAs: string): Promise<Holder> {
  const pid = await postmasterPid(reachedAs);
  if (pid === undefined || !isAlive(pid)) return { state: 'none' };
  const postmaster = await inspect(pid);
  if (postmaster === undefined) return isAlive(pid) ? { state: 'unknown', pid } : { state: 'none' };
  if (!postmaster.commandLine.includes(dataDirectory)) {
    // The number was given to another process since (usual after a container restarts). PostgreSQL
    // only sees that it is alive and would refuse to start.
    await rm(join(reachedAs, 'postmaster.pid'), { force: true });
    return { state: 'none' };
  }
  const keeper = await inspect(postmaster.parentPid);
  const served = keeper === undefined ? undefined : servedBy(keeper.commandLine);
  if (keeper === undefined || served === undefined) return { state: 'orphaned', pid };
  // A keeper whose node died was handed to another parent.
  return { state: keeper.parentPid === served ? 'in-use' : 'stopping', pid };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function postmasterPid(dataDirectory: string): Promise<number | undefined> {
  const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => ''); // none: not running
  const pid = Number.parseInt(text, 10);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
}

function servedBy(commandLine: string): number | undefined {
  const match = new RegExp(`${keeperMark}:(\\d+)`).exec(commandLine);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

async function inspect(pid: number): Promise<ProcessFacts | undefined> {
  try {
    if (process.platform === 'linux') {
      const [stat, commandLine] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8'),
        readFile(`/proc/${pid}/cmdline`, 'utf8'),
      ]);
      // The name in parentheses may hold anything; state and parent come after the last one.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { parentPid: Number(fields[1]), commandLine: commandLine.replaceAll('\0', ' ') };
    }
    if (process.platform === 'win32') return undefined;
    const { stdout } = await run('ps', ['-ww', '-o', 'ppid=,args=', '-p', String(pid)]);
    const match = /^\s*(\d+)\s+(.*)$/s.exec(stdout);
    return match?.[1] === undefined
      ? undefined
      : { parentPid: Number(match[1]), commandLine: match[2] ?? '' };
  } catch {
    return undefined; // it ended while we looked
  }
}
