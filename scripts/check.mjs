// The whole gate: format, lock file, decisions, native binaries, protobuf rules, types, lint, tests. `--fast` runs only the
// tests that need no database, no Redis and no other process.
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';

/** @type {[name: string, command: string, args: string[]][]} */
const steps = [
  ['format', 'npx', ['oxfmt', '--check']],
  ['lock file', process.execPath, ['scripts/lock.mjs', '--check']],
  ['decisions', process.execPath, ['scripts/decisions.mjs', '--check']],
  ['native server', process.execPath, ['scripts/check-native.mjs']],
  ['protobuf', 'npx', ['buf', 'lint']],
  ['protobuf numbers', 'npx', ['buf', 'breaking', '--against', 'proto/released.binpb']],
  ['openapi', process.execPath, ['scripts/lint-openapi.mjs']],
  ['build', process.execPath, ['scripts/build.mjs', '--force']],
  ['types of the console', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'console']],
  ['types of the widget', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'widget']],
  ['lint', 'npx', ['oxlint', '--deny-warnings']],
];
const fastTests = ['dist/test/tidy.test.js', 'dist/test/tables.test.js', 'dist/test/unit'];
if (process.argv.includes('--fast'))
  steps.push(['tests', process.execPath, ['scripts/test.mjs', ...fastTests]]);
else if (!process.argv.includes('--without-tests'))
  steps.push(['tests', process.execPath, ['scripts/test.mjs']]);

for (const [name, command, args] of steps) {
  process.stdout.write(`\n── ${name}\n`);
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) {
    process.stderr.write(`check: ${name} failed\n`);
    process.exit(1);
  }
}
