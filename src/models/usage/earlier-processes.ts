/**
 * Which processes used this data directory before. One that is gone for sure can close nothing any more, so what it
 * left open need not wait for its deadline. Only what is sure counts: on the same machine, and no process of that
 * number is there.
 */
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../infra/storage/index.js';

export interface EarlierProcesses {
  isGone(processId: string): boolean;
  /** This process ends as it should, and has left nothing open. */
  leave(): Promise<void>;
}

const entry = z.object({ pid: z.int().positive(), host: z.string() });

/** Longer than any attempt may run: after that the deadlines of its rows have passed too. */
const remembersMs = 3_600_000;

/** Nodes of this very process, as tests start them: their process is there, but so are they. */
const here = new Set<string>();

export async function enterProcesses(dataDir: string, processId: string): Promise<EarlierProcesses> {
  const folder = join(dataDir, 'processes');
  await makeFolder(folder);
  const gone = new Set<string>();
  for (const name of await readdir(folder)) {
    const id = decodeURIComponent(name);
    if (here.has(id)) continue;
    const path = join(folder, name);
    if (!(await isOver(path))) continue;
    gone.add(id);
    if (Date.now() - (await stat(path)).mtimeMs > remembersMs) await rm(path, { force: true });
  }
  here.add(processId);
  // An id may hold what an operator named the node.
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
    // Another node that starts at the same time tidied it away.
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
    // Its process died while it wrote; nothing is known of it.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user cannot be signalled, and is there.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
