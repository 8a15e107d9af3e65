import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from '../../infra/storage/index.js';
import { CommandError, reasonsOf } from './command.js';

/** A new database and its first log files take 100 MB; a start with less space fails in the middle of a write. */
const newDatabaseBytes = 200 * 1024 * 1024;
/** Two log files of an existing database. */
const writtenBytesMin = 32 * 1024 * 1024;

/** The disk space that a node with its own database needs. */
export function bytesNeededBy(databaseFolder: string): number {
  return existsSync(join(databaseFolder, 'data')) ? writtenBytesMin : newDatabaseBytes;
}

/** Error codes of the file system, each with the cause and the fix. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'this account may not write there. Give it the folder (chown)',
  EPERM: 'this account may not write there. Give it the folder (chown)',
  EROFS: 'the file system is read-only. Mount it for writing',
  ENOSPC: 'the disk is full. Free some space',
  EDQUOT: 'the disk quota is used up. Free some space',
  ENOTDIR: 'a file of that name is in the way. Move the file',
  ENOENT: 'no folder can be created there. Create its parent folder',
  EIO: 'the disk reports an input/output error. Check the disk',
};

const fullDisk = new Set(['ENOSPC', 'EDQUOT']);

/** Explains to the operator why the folder cannot be used; undefined if the error is not of the file system. */
export function folderProblem(folder: string, error: unknown): CommandError | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const code = codeOf(one, folder);
    const remedy = code === undefined ? undefined : remedies[code];
    if (remedy !== undefined) {
      return new CommandError(
        `the data folder ${folder} cannot be used: ${remedy}, or set TROUPE_DATA_DIR to another folder. (${reasonsOf(one)[0] ?? String(code)})`,
        { cause: error },
      );
    }
  }
  return undefined;
}

/** A full-disk error names no path; other errors count only if their path concerns this folder. */
function codeOf(error: Error, folder: string): string | undefined {
  // The programs of PostgreSQL report a full disk as text, without a code.
  if (/no space left|free disk space/i.test(error.message)) return 'ENOSPC';
  const code: unknown = Reflect.get(error, 'code');
  const path: unknown = Reflect.get(error, 'path');
  if (typeof code !== 'string') return undefined;
  const isHere = typeof path === 'string' && `${path}/`.startsWith(`${folder}/`);
  const isAbove = typeof path === 'string' && folder.startsWith(`${path}/`);
  return fullDisk.has(code) || isHere || isAbove ? code : undefined;
}

/** Creates the data folder and writes a file there once, so that a start that cannot store data fails early. */
export async function openDataFolder(dataDir: string, bytesNeeded = 0): Promise<string> {
  const folder = resolve(dataDir);
  try {
    await makeFolder(folder);
    await tryToWrite(folder);
  } catch (error) {
    throw folderProblem(folder, error) ?? error;
  }
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytesNeeded) {
    const megabytes = (bytes: number): number => Math.floor(bytes / 1024 / 1024);
    throw new CommandError(
      `the disk of the data folder ${folder} is full: ${megabytes(bavail * bsize)} MB are free, and ` +
        `${megabytes(bytesNeeded)} MB are needed. Free some space, or set TROUPE_DATA_DIR to a folder on another disk.`,
    );
  }
  return folder;
}

async function tryToWrite(folder: string): Promise<void> {
  const path = join(folder, `.written-${randomBytes(6).toString('hex')}`);
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile('x');
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(path, { force: true });
  }
}
