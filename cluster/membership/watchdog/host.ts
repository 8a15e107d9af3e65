import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Member } from '../membership.js';

/**
 * Identifies the process table of this process. Machines may share a name and containers a machine; boot id and
 * process namespace, where known, separate the tables, so that a pid under one name means one process.
 */
export function hostName(): string {
  if (process.platform !== 'linux') return hostname();
  const bootId = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = attempt(() => readlinkSync('/proc/self/ns/pid'));
  // Without both, a pid may belong to another table; a unique name then prevents any exit from being reported.
  if (bootId === undefined || namespace === undefined) return `${hostname()}/${process.pid}`;
  return `${hostname()}/${bootId}/${namespace}`;
}

/**
 * Whether a process of this table has ended. A zombie, which its parent has not reaped yet, has: its last thread is gone.
 * A busy parent may take seconds to reap, and the cluster would wait for the lease meanwhile.
 */
export function hasExited(member: Member): boolean {
  try {
    process.kill(member.pid, 0);
    return isZombie(member.pid);
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

/** Fields 3 and 20 of the line, behind the name, which may contain anything: the state, and the number of threads. */
function isZombie(pid: number): boolean {
  const line = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? '';
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' && Number(fields[17]) <= 1;
}

function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    // The caller handles a system without this file.
    return undefined;
  }
}
