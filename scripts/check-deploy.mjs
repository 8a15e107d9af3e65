// Checks what is in deploy/, the Dockerfile and compose.yaml: `npm run check:deploy`. With `--image` it also runs the
// Dockerfile's steps in a clean root and starts the result. It names what it could not check on this machine.
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../deploy/check/', import.meta.url));
if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
  process.stderr.write('deploy: installing the tools, only once: npm ci in deploy/check\n');
  run('npm', ['ci', '--ignore-scripts', '--loglevel', 'error'], { cwd: folder });
}
const checks = [
  'chart.mjs',
  'files.mjs',
  'secrets.mjs',
  ...(process.argv.includes('--image') ? ['image.mjs'] : []),
];
for (const check of checks) run(process.execPath, [`${folder}${check}`], {});

function run(command, args, options) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) process.exit(status ?? 1);
}
