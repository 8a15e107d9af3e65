// The documentation as a site.
//
//   node scripts/docs.mjs build   writes site/dist; dead links, and requests to other origins, fail
//   node scripts/docs.mjs dev     serves the pages while they are written
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../site/', import.meta.url));
const [task = 'build', ...words] = process.argv.slice(2);
if (!['build', 'dev'].includes(task)) {
  process.stderr.write('Usage: node scripts/docs.mjs build|dev\n');
  process.exit(2);
}
if (!existsSync(fileURLToPath(new URL('../dist/src', import.meta.url)))) {
  process.stderr.write('docs: the reference is made of the built product: run "npm run build" first\n');
  process.exit(1);
}
if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
  process.stderr.write('docs: installing the site generator, only once: npm ci in site\n');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'], { cwd: folder });
}
run(process.execPath, [`${folder}generate.mjs`]);
const limit = task === 'build' ? { timeout: 180_000 } : {};
run(process.execPath, [`${folder}node_modules/vitepress/bin/vitepress.js`, task, folder, ...words], limit);
if (task === 'build') run(process.execPath, [`${folder}check.mjs`]);

function run(command, args, options = {}) {
  const { status, signal } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (signal !== null) process.stderr.write(`docs: ${args[0]} was ended by ${signal}, after 180 s at most\n`);
  if (status !== 0) process.exit(status ?? 1);
}
