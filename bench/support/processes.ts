import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** What the processes below one have used, with those of theirs that ended; not a number on systems without /proc. */
export function cpuSecondsBelow(pid: number): number {
  const all = processes();
  if (all === undefined) return Number.NaN;
  let ticks = 0;
  const above = [pid];
  for (let parent = above.pop(); parent !== undefined; parent = above.pop()) {
    for (const one of all) {
      if (one.parent !== parent) continue;
      ticks += one.ticks;
      above.push(one.pid);
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
    return []; // it has just ended
  }
  // The name may hold anything, and is in brackets.
  const fields = line
    .slice(line.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0] = fields.slice(1);
  const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0);
  return [{ pid: Number(pid), parent, ticks }];
}
