import { randomBytes } from 'node:crypto';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Settings } from '../../kernel/config/index.js';
import { runningEmbeddedPostgres, startEmbeddedPostgres } from '../../infra/storage/index.js';

const keyFile = 'master.key';

/** The master key of a single node: created once, stored in the data folder, readable only by the owner. */
export async function masterKeyOf(dataDir: string): Promise<string> {
  const path = join(dataDir, keyFile);
  try {
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // EEXIST: an earlier start created the key. The read below reports any other problem.
    if (!isOfCode(error, 'EEXIST')) throw error;
  }
  return (await readFile(path, 'utf8')).trim();
}

/** Undefined if the folder has none. */
export async function storedMasterKey(dataDir: string): Promise<Uint8Array | undefined> {
  try {
    return Buffer.from((await readFile(join(dataDir, keyFile), 'utf8')).trim(), 'base64');
  } catch (error) {
    if (isOfCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Stores the key of a restored installation, so that the next start does not create another one. */
export async function storeMasterKey(dataDir: string, masterKey: Uint8Array): Promise<void> {
  const file = await open(join(dataDir, keyFile), 'wx', 0o600);
  try {
    await file.writeFile(`${Buffer.from(masterKey).toString('base64')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

function isOfCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Where a single node keeps its own database. */
export function databaseFolderOf(dataDir: string): string {
  return join(resolve(dataDir), 'postgres');
}

/** DATABASE_URL, or the database in the data folder, which is started until `close` if no node runs it. */
export async function openDatabase(
  settings: Pick<Settings, 'databaseUrl' | 'dataDir'>,
): Promise<{ readonly databaseUrl: string; readonly close: () => Promise<void> }> {
  const directory = databaseFolderOf(settings.dataDir);
  const running = settings.databaseUrl ?? (await runningEmbeddedPostgres(directory));
  if (running !== undefined) return { databaseUrl: running, close: async () => undefined };
  const own = await startEmbeddedPostgres({ directory });
  return { databaseUrl: own.connectionString, close: () => own.stop() };
}
