import { readFileSync } from 'node:fs';

/**
 * How much memory a process holds; undefined where the system does not say. It is read synchronously: the kernel makes
 * the file while it is read, which takes some microseconds.
 */
export function residentBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    // The process has ended; its end is heard elsewhere.
    return undefined;
  }
}
