import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Member } from '../membership.js';

/**
 * Names the process table that this process is in. Machines may share a name and containers a machine; where
 * boot id and process namespace are known they tell tables apart, and pids of one name mean one process.
 */
export function hostName(): string {
  if (process.platform !== 'linux') return hostname();
  const bootId = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = attempt(() => readlinkSync('/proc/self/ns/pid'));
  // Without both a pid may be another process's in another table: then no exit is ever taken as seen.
  if (bootId === undefined || namespace === undefined) return `${hostname()}/${process.pid}`;
  return `${hostname()}/${bootId}/${namespace}`;
}

/** Whether a process of this table has ended. An exited one that nobody has collected yet still counts as there. */
export function hasExited(member: Member): boolean {
  try {
    process.kill(member.pid, 0);
    return false;
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    // A system without this file: the caller does without.
    return undefined;
  }
}
