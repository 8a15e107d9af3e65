// The address of a database that a running node keeps in a data folder, for commands run beside that node.
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './holder.js';
import { applicationDatabase, applicationRole, passwordFile } from './initialise.js';

/** Lines of postmaster.pid, as PostgreSQL documents them: process, folder, start, port, socket, host, memory, state. */
const portLine = 3;

/** The connection string, or undefined if no database runs on `directory`. */
export async function runningEmbeddedPostgres(directory: string): Promise<string | undefined> {
  try {
    const data = join(await realpath(directory), 'data');
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
    const port = Number(lines[portLine]);
    if (!isAlive(Number(lines[0])) || !Number.isInteger(port)) return undefined;
    const password = (await readFile(join(data, passwordFile), 'utf8')).trim();
    return `postgresql://${applicationRole}:${password}@127.0.0.1:${port}/${applicationDatabase}`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
