// The tree of the last release, from the history: the commit before the one that took up the next version. Commit ids and
// tags are not relied on, since a clone may have neither.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 1e9 }).trim();

/** The version of the last release that is not this tree's own. */
export function lastRelease() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const releases = JSON.parse(readFileSync(join(root, 'migrations/released.json'), 'utf8'));
  return releases.filter((release) => release.version !== version).at(-1)?.version;
}

/** Undefined where the history does not reach back so far. */
export function releasedCommit(version) {
  const found = spawnSync(
    'git',
    ['rev-list', '--no-merges', '--full-history', 'HEAD', '--', 'package.json'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  if (found.status !== 0) return undefined;
  for (const commit of found.stdout.split('\n').filter((line) => line !== '')) {
    if (versionAt(commit) !== version && versionAt(`${commit}^`) === version)
      return git('rev-parse', `${commit}^`);
  }
  return undefined;
}

function versionAt(commit) {
  const shown = spawnSync('git', ['show', `${commit}:package.json`], { cwd: root, encoding: 'utf8' });
  return shown.status === 0 ? JSON.parse(shown.stdout).version : undefined;
}

/** A folder with the built tree of the commit; an earlier build of the same commit is used again. */
export async function buildReleased(commit) {
  const cache = join(root, '.cache');
  const folder = join(cache, `released-${commit}`);
  if (existsSync(join(folder, '.complete'))) return folder;
  const unpacked = `${folder}.${process.pid}`;
  mkdirSync(unpacked, { recursive: true });
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1e9 });
    execFileSync('tar', ['-x', '-C', unpacked], { input: archive });
    if (packagesOf(unpacked) === packagesOf(root)) {
      for (const workspace of ['', 'client', 'console']) {
        const modules = join(root, workspace, 'node_modules');
        if (existsSync(modules)) symlinkSync(modules, join(unpacked, workspace, 'node_modules'));
      }
    } else {
      // Without scripts, of which one would also bundle the pages: no node of the roll shows any.
      const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
      execFileSync('npm', words, { cwd: unpacked, stdio: 'inherit' });
    }
    const program = `import('./scripts/build.mjs').then(({ buildPlatform }) => buildPlatform(true))`;
    execFileSync(process.execPath, ['-e', program], { cwd: unpacked, stdio: 'inherit' });
    writeFileSync(join(unpacked, '.complete'), '');
    rmSync(folder, { recursive: true, force: true });
    renameSync(unpacked, folder);
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
  return folder;
}

/** The locked packages from the registry, without the versions of this project itself. */
function packagesOf(folder) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  return JSON.stringify(Object.entries(packages).filter(([name]) => name.includes('node_modules/')));
}
