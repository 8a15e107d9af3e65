import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. Does not use `recursive` of `mkdir`, which retries forever if the system
 * refuses a folder with ENOENT although its parent exists, as under /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  if (await made(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  if (!(await made(path))) {
    throw Object.assign(new Error(`the folder ${path} cannot be created`), { code: 'ENOENT', path });
  }
}

/** Returns false if the parent folder is missing. */
async function made(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (code === 'ENOENT') return false;
    // For an existing folder, some systems report EEXIST, others that the parent is not writable.
    if (await isFolder(path)) return true;
    if (code !== 'EEXIST') throw error;
    throw Object.assign(new Error(`${path} exists but is not a folder`), { code: 'ENOTDIR', path });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
