/**
 * The earlier processes of this data directory. A process that is certainly gone cannot close its open rows, so they
 * need not wait for their deadlines. Certain means: on the same machine, and no process has that number.
 */
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { makeFolder } from '../../infra/storage/index.js';

export interface EarlierProcesses {
  isGone(processId: string): boolean;
  /** This process ends normally and leaves nothing open. */
  leave(): Promise<void>;
}

const entry = z.object({ pid: z.int().positive(), host: z.string() });

/** Longer than any attempt may run: after that the deadlines of its rows have passed too. */
const remembersMs = 3_600_000;

/** Ids of nodes that run in this very process, as in tests: the process exists, and so do they. */
const here = new Set<string>();

export async function enterProcesses(
  dataDir: string,
  processId: string,
  time: Time,
): Promise<EarlierProcesses> {
  const folder = join(dataDir, 'processes');
  await makeFolder(folder);
  const gone = new Set<string>();
  for (const name of await readdir(folder)) {
    const id = decodeURIComponent(name);
    if (here.has(id)) continue;
    const path = join(folder, name);
    if (!(await isOver(path))) continue;
    gone.add(id);
    if (time.wallMs() - (await stat(path)).mtimeMs > remembersMs) await rm(path, { force: true });
  }
  here.add(processId);
  // The id may contain the operator's name for the node.
  const own = join(folder, encodeURIComponent(processId));
  await writeFile(own, JSON.stringify({ pid: process.pid, host: hostname() }));
  return {
    isGone: (id) => gone.has(id),
    leave: async () => {
      here.delete(processId);
      await rm(own, { force: true });
    },
  };
}

async function isOver(path: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    // Another node that starts at the same time removed the file.
    return false;
  }
  const read = entry.safeParse(parsed(text));
  if (!read.success || read.data.host !== hostname()) return false;
  return read.data.pid === process.pid || !isAlive(read.data.pid);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The process died while it wrote the file, so its identity is unknown.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user cannot be signalled, but exists.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
