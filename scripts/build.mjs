// Builds only if a source is newer than the last build, so that a start without changes takes milliseconds. The console
// has a stamp of its own: it takes longest, and changes of the platform leave it as it is.
import '../bin/supported-node.mjs';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'dist', '.built');

function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  let latest = stat.mtimeMs;
  for (const name of readdirSync(path)) latest = Math.max(latest, newest(join(path, name)));
  return latest;
}

function run(module, ...args) {
  const child = spawn(process.execPath, [join(root, module), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => {
    child.on('exit', (status, signal) => {
      if (status === 0) return resolve();
      process.stderr.write(`build: ${module} ${args.join(' ')} failed (exit ${status ?? signal})\n`);
      process.exit(1);
    });
  });
}

/** Removes the output of deleted or renamed sources, so that a deleted test no longer runs. */
function prune(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const output = join(entry.parentPath, entry.name);
    const match = /^(.*)\.(?:js|d\.ts)(?:\.map)?$/.exec(output);
    if (!entry.isFile() || match === null) continue;
    const source = join(root, relative(join(root, 'dist'), `${match[1]}.ts`));
    if (!existsSync(source)) rmSync(output);
  }
}

/** The types of the API and the methods of the client, from the document. */
async function generateClient(force) {
  const made = newest(join(root, 'client', 'src', 'generated', 'operations.ts'));
  const sources = ['docs/openapi.json', 'client/generate.mjs'].map((name) => newest(join(root, name)));
  if (force || made < Math.max(...sources)) await run('client/generate.mjs');
}

/** Bundles the console into dist/console. Its types are checked by scripts/check.mjs: who runs the product need not wait. */
async function buildConsole(force) {
  const stamp = join(root, 'dist', 'console', '.built');
  const watched = [
    'console',
    'client/src',
    'docs/openapi.json',
    'src/http/operations/permissions.ts',
    'package-lock.json',
  ];
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  if (!force && watched.every((name) => newest(join(root, name)) <= built)) return;
  const startedAt = new Date();
  await run('node_modules/vite/bin/vite.js', 'build', 'console', '--logLevel', 'warn');
  writeFileSync(stamp, startedAt.toISOString());
}

/** Bundles the script of the chat for other sites into dist/widget. */
async function buildWidget(force) {
  const stamp = join(root, 'dist', 'widget', '.built');
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  const watched = ['widget', 'client/src', 'console/src/ui/bounded-markdown.ts', 'package-lock.json'];
  if (!force && watched.every((name) => newest(join(root, name)) <= built)) return;
  const startedAt = new Date();
  await run('node_modules/vite/bin/vite.js', 'build', 'widget', '--logLevel', 'warn');
  writeFileSync(stamp, startedAt.toISOString());
}

/** The generated sources as a part of the compilation. */
function describeGenerated() {
  const folder = join(root, 'generated');
  const text = JSON.stringify({
    extends: '../tsconfig.base.json',
    compilerOptions: {
      rootDir: '..',
      outDir: '../dist',
      tsBuildInfoFile: '../dist/generated.tsbuildinfo',
      noPropertyAccessFromIndexSignature: false,
      noUnusedParameters: false,
      noUnusedLocals: false,
      erasableSyntaxOnly: false,
    },
    include: ['./**/*.ts'],
  });
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'tsconfig.json');
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}

/** Updates dist/; with `force` it rebuilds regardless of file times. */
export async function build({ force = false } = {}) {
  // Before the bundles: the bundler reads every part of tsconfig.json, and fails on one that is not there yet.
  describeGenerated();
  await generateClient(force);
  await Promise.all([buildPlatform(force), buildConsole(force), buildWidget(force)]);
}

/** Everything but the console, whose types need a document that the platform writes. */
export async function buildPlatform(force = false) {
  const watched = [
    'proto',
    'cluster',
    'src',
    'test',
    'bench',
    'client/src',
    'client/generate.mjs',
    'client/package.json',
    'client/tsconfig.json',
    'docs/openapi.json',
    'buf.gen.yaml',
    'tsconfig.base.json',
    'package-lock.json',
  ];
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  const hasClient = existsSync(join(root, 'client', 'dist', 'index.js'));
  if (!force && hasClient && watched.every((name) => newest(join(root, name)) <= built)) return;
  const startedAt = new Date();
  describeGenerated();
  mkdirSync(join(root, 'dist'), { recursive: true });
  const generated = join(root, 'generated', '.built');
  if (force || !existsSync(generated) || newest(join(root, 'proto')) > statSync(generated).mtimeMs) {
    await run('node_modules/@bufbuild/buf/bin/buf', 'generate');
    writeFileSync(generated, '');
  }
  // Again only where it is missing: a bundler may be reading it.
  await generateClient(false);
  await run('node_modules/typescript/bin/tsc', '-b');
  // Not dist/console and dist/widget, which another program writes at the same time.
  for (const name of ['bench', 'cluster', 'generated', 'src', 'test']) prune(join(root, 'dist', name));
  writeFileSync(stamp, startedAt.toISOString());
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await build({ force: process.argv.includes('--force') });
