import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** CPU seconds of all descendants of a process, including ended ones; NaN on systems without /proc. */
export function cpuSecondsBelow(pid: number): number {
  const all = processes();
  if (all === undefined) return Number.NaN;
  let ticks = 0;
  const ancestors = [pid];
  for (let parent = ancestors.pop(); parent !== undefined; parent = ancestors.pop()) {
    for (const one of all) {
      if (one.parent !== parent) continue;
      ticks += one.ticks;
      ancestors.push(one.pid);
    }
  }
  return ticks / ticksPerSecond;
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

function processes(): readonly Process[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap(processOf);
  } catch {
    return undefined;
  }
}

function processOf(pid: string): readonly Process[] {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return []; // the process has just ended
  }
  // The name may contain any character, and is in brackets.
  const fields = line
    .slice(line.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0] = fields.slice(1);
  const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0);
  return [{ pid: Number(pid), parent, ticks }];
}
