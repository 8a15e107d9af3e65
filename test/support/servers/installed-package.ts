// The package as `npm pack` makes it, in an empty folder with its production dependencies and nothing else.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const execute = promisify(execFile);

interface LockedPackage {
  readonly dev?: boolean;
  readonly link?: boolean;
}

/**
 * `npm install` of the packed file without the registry: links to the installed packages that package-lock.json does
 * not mark as needed for development only.
 */
export async function installPackage(t: {
  teardown(fn: () => Promise<void>): void;
}): Promise<{ readonly folder: string; readonly files: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-package-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  // The scripts would build again, while other tests run what is built.
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await execute('npm', words, { cwd: root, maxBuffer: 16 * 1_048_576 });
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: readonly { path: string }[] }];
  await execute('tar', ['-xzf', join(folder, packed.filename), '-C', folder]);
  await mkdir(join(folder, 'node_modules'));
  await rename(join(folder, 'package'), join(folder, 'node_modules', 'troupe'));
  for (const name of await productionPackages()) await link(folder, name);
  return { folder, files: packed.files.map(({ path }) => path) };
}

/** Names of the packages beside each other in node_modules; nested ones come with the package that holds them. */
async function productionPackages(): Promise<readonly string[]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const prefix = 'node_modules/';
  const isThere = new Set(await packagesIn(join(root, 'node_modules')));
  return Object.entries(lock.packages)
    .filter(([place, { dev, link: isWorkspace }]) => place.startsWith(prefix) && !dev && !isWorkspace)
    .map(([place]) => place.slice(prefix.length))
    .filter((name) => !name.includes('/node_modules/') && isThere.has(name));
}

async function packagesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const scopes = names.filter((name) => name.startsWith('@'));
  const scoped = await Promise.all(
    scopes.map(async (scope) => (await readdir(join(folder, scope))).map((name) => `${scope}/${name}`)),
  );
  return [...names, ...scoped.flat()];
}

async function link(folder: string, name: string): Promise<void> {
  const place = join(folder, 'node_modules', name);
  await mkdir(dirname(place), { recursive: true });
  await symlink(join(root, 'node_modules', name), place);
}
