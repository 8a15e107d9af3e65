// Lints docs/openapi.json by Redocly and Spectral, which are installed at the first run: they are as many packages as the
// platform has itself, and only the gate needs them.
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('openapi-rules/', import.meta.url));
if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
  process.stderr.write('openapi: installing the linters, only once: npm ci in scripts/openapi-rules\n');
  run('npm', ['ci', '--ignore-scripts', '--loglevel', 'error'], { cwd: folder });
}
run(process.execPath, [`${folder}lint.mjs`], {});

function run(command, words, options) {
  const { status } = spawnSync(command, words, { stdio: 'inherit', ...options });
  if (status !== 0) process.exit(status ?? 1);
}
