import { readFileSync } from 'node:fs';

/**
 * The resident memory of a process; undefined if the system does not provide it. The read is synchronous: the kernel
 * generates the file on read, which takes some microseconds.
 */
export function residentBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    // The process has exited; the `exit` event reports that.
    return undefined;
  }
}
