// Installs the clients of interop/ and runs them: `npm run interop`. `--write` renews docs/interop.md.
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

const folder = fileURLToPath(new URL('../interop/', import.meta.url));
if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
  process.stderr.write('interop: installing the clients, only once: npm ci in interop\n');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'], { cwd: folder });
}
await build();
run(process.execPath, [`${folder}run.mjs`, ...process.argv.slice(2)], {});

function run(command, args, options) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) process.exit(status ?? 1);
}
