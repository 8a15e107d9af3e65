// Builds, starts a database for the tests, and runs ava: on the files or folders given, or on all tests.
import '../bin/supported-node.mjs';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { slowestTests } from './slowest-tests.mjs';
import { writePacks } from './test-packs.mjs';
import { isUnit, planOf } from './test-stages.mjs';
import { TestSummary } from './test-summary.mjs';

await build();
const run = randomBytes(4).toString('hex');
const ava = fileURLToPath(new URL('../node_modules/ava/entrypoints/cli.mjs', import.meta.url));
/** Each process loads the same modules. Node 22 compiles them once; Node 20 ignores the variable. */
const compiled = fileURLToPath(new URL('../node_modules/.cache/compiled-tests', import.meta.url));

// Ctrl-C also reaches ava; this process waits until ava has ended and then removes the database.
let child;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    if (signal !== 'SIGINT') child?.kill(signal);
  });
}

const { files, packs, stages } = planned(process.argv.slice(2));
if (packs.length > 0) writePacks(packs);
const database = await databaseFor(stages.flat());
const node = packs.length > 0 ? { TROUPE_TEST_NODE: await bundled() } : {};
const notes = join(mkdtempSync(join(tmpdir(), 'troupe-test-times-')), 'times');
writeFileSync(notes, '');
const summary = new TestSummary(files);
let status = 0;
try {
  for (const stage of stages) {
    if (!interrupted) status = Math.max(status, await runStage(stage));
  }
} finally {
  await database.stop();
}
printSummary();
process.exit(interrupted ? 130 : status);

function planned(words) {
  try {
    return planOf(words);
  } catch (error) {
    process.stderr.write(`test: ${error.message}\n`);
    process.exit(2);
  }
}

/** Unit tests get no database, so that one that needs it fails; every other test does. */
async function databaseFor(words) {
  if (words.every(isUnit)) return { environment: {}, stop: async () => undefined };
  const { provideDatabase } = await import('./test-database.mjs');
  return provideDatabase(run);
}

/** The node that tests run as a process. */
async function bundled() {
  const { bundleNode } = await import('./node-bundle.mjs');
  return bundleNode();
}

/** Runs ava with these arguments, and takes its output into the summary. Resolves with its exit code. */
function runStage(words) {
  child = spawn(process.execPath, [ava, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      FORCE_COLOR: process.stdout.isTTY ? '1' : '0',
      NODE_COMPILE_CACHE: compiled,
      ...process.env,
      ...(words.every(isUnit) ? {} : { ...database.environment, ...node }),
      TROUPE_TEST_RUN: run,
      TROUPE_TEST_TIMES: notes,
    },
  });
  summary.begin();
  createInterface({ input: child.stdout }).on('line', (line) => summary.take(line));
  child.stdout.pipe(process.stdout, { end: false });
  return new Promise((resolve) => {
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** The slowest files, the failures, and a final line with the counts. */
function printSummary() {
  const times = slowestTests(readFileSync(notes, 'utf8'));
  rmSync(dirname(notes), { recursive: true });
  const failed = status === 0 ? 0 : Math.max(1, summary.failed);
  process.stdout.write(`${times}${summary.text}\n${summary.passed} passed, ${failed} failed\n`);
}
