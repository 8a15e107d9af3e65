// Builds only if a source is newer than the last build, so that a start without changes takes milliseconds.
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
  const result = spawnSync(process.execPath, [join(root, 'node_modules', module), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (result.status !== 0) {
    process.stderr.write(
      `build: ${module} ${args.join(' ')} failed (exit ${result.status ?? result.signal})\n`,
    );
    process.exit(1);
  }
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

/** Updates dist/; with `force` it rebuilds regardless of file times. */
export function build({ force = false } = {}) {
  const watched = [
    'proto',
    'cluster',
    'src',
    'test',
    'bench',
    'buf.gen.yaml',
    'tsconfig.base.json',
    'package-lock.json',
  ];
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  if (!force && watched.every((name) => newest(join(root, name)) <= built)) return;
  const startedAt = new Date();
  mkdirSync(join(root, 'dist'), { recursive: true });
  const generated = join(root, 'generated', '.built');
  if (force || !existsSync(generated) || newest(join(root, 'proto')) > statSync(generated).mtimeMs) {
    run('@bufbuild/buf/bin/buf', 'generate');
    writeFileSync(
      join(root, 'generated', 'tsconfig.json'),
      JSON.stringify({
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
      }),
    );
    writeFileSync(generated, '');
  }
  run('typescript/bin/tsc', '-b');
  prune(join(root, 'dist'));
  writeFileSync(stamp, startedAt.toISOString());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build({ force: process.argv.includes('--force') });
