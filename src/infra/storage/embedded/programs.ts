// Provides PostgreSQL's programs to another account. An installation under a folder that only root may enter (a clone
// under /root) is copied to a place that everyone may read and only root may write.
import { constants } from 'node:fs';
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Account, canReach } from './account.js';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './errors.js';

const cacheDirectory = '/var/cache/troupe';

/** The programs themselves if the account can reach them, otherwise a copy. */
export async function reachablePrograms(
  account: Account,
  binaries: Binaries,
  cache = cacheDirectory,
): Promise<Binaries> {
  const native = dirname(dirname(binaries.postgres));
  const samples = [...Object.values(binaries), join(native, 'share'), join(native, 'lib')];
  const reached = await Promise.all(samples.map((path) => canReach(account, path)));
  if (reached.every(Boolean)) return binaries;
  try {
    const copy = await copyOf(native, cache);
    const moved = (path: string): string => join(copy, 'bin', basename(path));
    return {
      initdb: moved(binaries.initdb),
      postgres: moved(binaries.postgres),
      pgCtl: moved(binaries.pgCtl),
    };
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'no-account',
      `PostgreSQL does not run as root. The account with user id ${account.uid}, which would run it, cannot reach ` +
        `its programs in ${native}, and they cannot be copied to ${cache}. Start as an ordinary user, install in a ` +
        'folder that everyone may enter, or set DATABASE_URL.',
      { cause },
    );
  }
}

/** Copied once per version, under a temporary name, so that a start killed half-way leaves no incomplete copy. */
async function copyOf(native: string, cache: string): Promise<string> {
  await mkdir(cache, { recursive: true, mode: 0o755 });
  await requireRoots(cache);
  const place = join(cache, `postgres-${await versionOf(native)}-${process.arch}`);
  if (await isThere(place)) return place;
  const unfinished = await mkdtemp(`${place}.`);
  try {
    await cp(native, unfinished, {
      recursive: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
    });
    await openToReaders(unfinished);
    await rename(unfinished, place);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // A concurrent start was faster.
    if (!(await isThere(place))) throw error;
  }
  return place;
}

async function versionOf(native: string): Promise<string> {
  const text = await readFile(join(dirname(native), 'package.json'), 'utf8');
  return /"version":\s*"([\w.+-]+)"/.exec(text)?.[1] ?? 'unknown';
}

async function isThere(place: string): Promise<boolean> {
  try {
    await requireRoots(place);
    return true;
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return false;
    throw error;
  }
}

/** Refuses programs that another account could have put there. */
async function requireRoots(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error(`${path} is not a folder that only root may write`);
  }
}

/** With a strict umask, only the owner could read the installation. */
async function openToReaders(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToReaders(path);
    else if (entry.isFile()) await chmod(path, basename(folder) === 'bin' ? 0o755 : 0o644);
  }
}
