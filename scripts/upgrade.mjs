// Rolls a loaded cluster of the last release to this tree and back (test/upgrade/roll.ts): `npm run check:upgrade`.
// `--self` rolls this tree with itself, which the gate does where the history is too short.
import '../bin/supported-node.mjs';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { buildReleased, lastRelease, releasedCommit } from './released-tree.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const release = lastRelease();
const commit = process.argv.includes('--self') || release === undefined ? undefined : releasedCommit(release);
if (commit === undefined && process.argv.includes('--or-self')) {
  process.stdout.write(
    `upgrade: the history of this clone does not hold release ${release}; clone it with its history to roll from it. ` +
      'This tree is rolled with itself.\n',
  );
} else if (commit === undefined && !process.argv.includes('--self')) {
  process.stderr.write(
    `upgrade: the history of this clone does not hold release ${release}: git fetch --unshallow\n`,
  );
  process.exit(1);
}

await build();
const from = commit === undefined ? root : await buildReleased(commit);
process.stdout.write(
  commit === undefined
    ? 'upgrade: this tree and itself\n'
    : `upgrade: release ${release} (${commit.slice(0, 12)}) and this tree\n`,
);

const { provideDatabase } = await import('./test-database.mjs');
const run = randomBytes(4).toString('hex');
const database = await provideDatabase(run);
let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal));
try {
  child = spawn(process.execPath, [`${root}dist/test/upgrade/roll.js`], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...database.environment,
      TROUPE_TEST_RUN: run,
      TROUPE_RELEASED_TREE: from,
      TROUPE_RELEASED_VERSION: commit === undefined ? '' : release,
    },
  });
  process.exitCode = await new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
} finally {
  await database.stop();
}
