// Builds, starts a database for the tests, and runs ava with the given arguments.
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
import { TestSummary } from './test-summary.mjs';

await build();
const run = randomBytes(4).toString('hex');
const ava = fileURLToPath(new URL('../node_modules/ava/entrypoints/cli.mjs', import.meta.url));
/** Each file is a process that loads the same modules. Node 22 compiles them once; Node 20 ignores the variable. */
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

const database = await databaseFor(process.argv.slice(2));
let status = 1;
try {
  if (!interrupted) status = await runAva({ ...database.environment, TROUPE_TEST_RUN: run });
} finally {
  await database.stop();
}
process.exit(interrupted ? 130 : status);

/** Unit tests get no database, so that one that needs it fails; every other test does. */
async function databaseFor(patterns) {
  const isUnit = (pattern) => /^dist\/test\/(?:unit\/|tidy\.|tables\.)/.test(pattern);
  if (patterns.length > 0 && patterns.every(isUnit)) return { environment: {}, stop: async () => undefined };
  const { provideDatabase } = await import('./test-database.mjs');
  return provideDatabase(run);
}

/** Prints ava's output, a summary of the failures, and a final line with the counts. */
function runAva(environment) {
  const notes = join(mkdtempSync(join(tmpdir(), 'troupe-test-times-')), 'times');
  writeFileSync(notes, '');
  child = spawn(process.execPath, [ava, ...process.argv.slice(2)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      FORCE_COLOR: process.stdout.isTTY ? '1' : '0',
      NODE_COMPILE_CACHE: compiled,
      ...process.env,
      ...environment,
      TROUPE_TEST_TIMES: notes,
    },
  });
  const summary = new TestSummary();
  createInterface({ input: child.stdout }).on('line', (line) => summary.take(line));
  child.stdout.pipe(process.stdout, { end: false });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const times = slowestTests(readFileSync(notes, 'utf8'));
      rmSync(dirname(notes), { recursive: true });
      const failed = code === 0 ? 0 : Math.max(1, summary.failed);
      process.stdout.write(`${times}${summary.text}\n${summary.passed} passed, ${failed} failed\n`);
      resolve(code ?? 1);
    });
  });
}
