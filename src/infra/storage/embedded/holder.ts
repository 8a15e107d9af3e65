// Finds the process that uses a data directory. PostgreSQL's own postmaster.pid is the lock; the process tree shows who
// started it. A lock file of our own would be stale exactly when it matters (after kill -9).
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Holder =
  | { readonly state: 'none' }
  /** Used by a running node. */
  | { readonly state: 'in-use'; readonly pid: number }
  /** The node is gone and the keeper is about to stop PostgreSQL. */
  | { readonly state: 'stopping'; readonly pid: number }
  /** The keeper is gone too: the new start must stop PostgreSQL. */
  | { readonly state: 'orphaned'; readonly pid: number }
  /** Running, but this system does not show who started it. */
  | { readonly state: 'unknown'; readonly pid: number };

type ProcessFacts = { readonly parentPid: number; readonly commandLine: string };

/** Marks the keeper in the process list, followed by the id of its node's process. */
export const keeperMark = 'troupe-postgres-keeper';

/** `dataDirectory` is the path passed to its PostgreSQL, `reachedAs` the path from this process. */
export async function findHolder(dataDirectory: string, reachedAs: string): Promise<Holder> {
  const pid = await postmasterPid(reachedAs);
  if (pid === undefined || !isAlive(pid)) return { state: 'none' };
  const postmaster = await inspect(pid);
  if (postmaster === undefined) return isAlive(pid) ? { state: 'unknown', pid } : { state: 'none' };
  if (!postmaster.commandLine.includes(dataDirectory)) {
    // The process id now belongs to another process (usual after a container restarts). PostgreSQL checks only whether
    // that process exists, and would refuse to start.
    await rm(join(reachedAs, 'postmaster.pid'), { force: true });
    return { state: 'none' };
  }
  const keeper = await inspect(postmaster.parentPid);
  const served = keeper === undefined ? undefined : servedBy(keeper.commandLine);
  if (keeper === undefined || served === undefined) return { state: 'orphaned', pid };
  // A keeper whose node has died has another parent.
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
      // The name in parentheses may contain any character; state and parent follow the last parenthesis.
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
    return undefined; // it ended during the check
  }
}
