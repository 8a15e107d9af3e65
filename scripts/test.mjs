// Builds, provides what the tests need, and runs ava with whatever was asked for; all tests where nothing was.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { provideDatabase } from './test-database.mjs';
import { TestSummary } from './test-summary.mjs';

build();
const run = randomBytes(4).toString('hex');
const ava = fileURLToPath(new URL('../node_modules/ava/entrypoints/cli.mjs', import.meta.url));

// Ctrl-C reaches ava as well; this process stays until ava is gone and what it provided is taken away.
let child;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    if (signal !== 'SIGINT') child?.kill(signal);
  });
}

const summary = new TestSummary();
const database = await provideDatabase(run);
let status = 0;
try {
  for (const words of runs()) {
    if (interrupted) break;
    status = Math.max(status, await runAva(words, { ...database.environment, TROUPE_TEST_RUN: run }));
  }
} finally {
  await database.stop();
}
const failed = status === 0 ? 0 : Math.max(1, summary.failed);
process.stdout.write(`${summary.text}\n${summary.passed} passed, ${failed} failed\n`);
process.exit(interrupted ? 130 : status);

/**
 * Many tests wait most of their time, so three files at once keep two cores busy. Those of whole clusters start many
 * processes each and hold promises against the clock: no more than two of them at once, and nothing else beside.
 */
function runs() {
  const asked = process.argv.slice(2);
  if (asked.length > 0) return [asked];
  const others = readdirSync(new URL('../dist/test', import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'cluster')
    .map(({ name }) => `dist/test/${name}/**/*.test.js`);
  return [
    ['--concurrency', '2', 'dist/test/cluster/**/*.test.js'],
    ['dist/test/*.test.js', ...others],
  ];
}

/** Shows what ava prints; of all runs together it says once more in short what failed, and counts in one plain line. */
function runAva(words, environment) {
  child = spawn(process.execPath, [ava, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { FORCE_COLOR: process.stdout.isTTY ? '1' : '0', ...process.env, ...environment },
  });
  createInterface({ input: child.stdout }).on('line', (line) => summary.take(line));
  child.stdout.pipe(process.stdout, { end: false });
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
}
