// The whole gate: format, lock file, decisions, native binaries, protobuf rules, types, lint, tests. `--fast` runs only the
// tests that need no database, no Redis and no other process.
import '../bin/supported-node.mjs';
import { spawn } from 'node:child_process';

/** @typedef {[name: string, command: string, args: string[]]} Step */

/** Of one core each, so two lanes run at once: what reads the sources, and what compiles them. @type {Step[][]} */
const lanes = [
  [
    ['format', 'npx', ['oxfmt', '--check']],
    ['lock file', process.execPath, ['scripts/lock.mjs', '--check']],
    ['decisions', process.execPath, ['scripts/decisions.mjs', '--check']],
    ['native server', process.execPath, ['scripts/check-native.mjs']],
    ['protobuf', 'npx', ['buf', 'lint']],
    ['protobuf numbers', 'npx', ['buf', 'breaking', '--against', 'proto/released.binpb']],
    ['openapi', process.execPath, ['scripts/lint-openapi.mjs']],
  ],
  [
    ['build', process.execPath, ['scripts/build.mjs', '--force']],
    ['types of the console', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'console']],
    ['types of the widget', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'widget']],
  ],
];
/** Uses both cores, and the types that the build has written. @type {Step} */
const lint = ['lint', 'npx', ['oxlint', '--deny-warnings']];
const fastTests = ['dist/test/tidy.test.js', 'dist/test/tables.test.js', 'dist/test/unit'];

const running = new Set();
await Promise.all(
  lanes.map(async (steps) => {
    for (const step of steps) await run(step, { isBeside: true });
  }),
);
await run(lint);
if (process.argv.includes('--fast'))
  await run(['tests', process.execPath, ['scripts/test.mjs', ...fastTests]]);
else if (!process.argv.includes('--without-tests'))
  await run(['tests', process.execPath, ['scripts/test.mjs']]);

/**
 * Ends the whole check if the step fails. The output of a step beside others is printed at its end.
 * @param {Step} step
 */
async function run([name, command, args], { isBeside = false } = {}) {
  if (!isBeside) process.stdout.write(`\n── ${name}\n`);
  const child = spawn(command, args, { stdio: ['inherit', ...Array(2).fill(isBeside ? 'pipe' : 'inherit')] });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', resolve);
  });
  running.delete(child);
  if (isBeside) process.stdout.write(`\n── ${name}\n${output}`);
  if (code === 0) return;
  process.stderr.write(`check: ${name} failed${typeof code === 'string' ? `: ${code}` : ''}\n`);
  for (const other of running) other.kill();
  process.exit(1);
}
