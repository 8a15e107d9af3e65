import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, where they are missing. Not by the `recursive` of `mkdir`: that one tries for
 * ever where the system refuses a folder with ENOENT although its parent is there, as under /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  if (await made(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  if (!(await made(path))) {
    throw Object.assign(new Error(`no folder can be made at ${path}`), { code: 'ENOENT', path });
  }
}

/** False where the folder above is missing. */
async function made(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (code === 'ENOENT') return false;
    // Some systems say that a folder is there, others that nothing may be written beside it.
    if (await isFolder(path)) return true;
    if (code !== 'EEXIST') throw error;
    throw Object.assign(new Error(`${path} is there and is no folder`), { code: 'ENOTDIR', path });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
