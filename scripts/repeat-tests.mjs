// Runs the tests many times beside processes that keep the cores busy, and lists every failure with its count.
// node scripts/repeat-tests.mjs --times 10 --load 2 [--keep folder] [test files or folders of dist/test]
import '../bin/supported-node.mjs';
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { build } from './build.mjs';
import { FailureCounts } from './failure-counts.mjs';
import { testFiles } from './test-files.mjs';
import { TestSummary } from './test-summary.mjs';

const { times, load, keep, places } = readArguments();
if (keep !== undefined) mkdirSync(keep, { recursive: true });
await build();
const files = testFiles(places);
if (files.length === 0) stopWith(`no test file at ${places.join(', ')}; name files or folders of dist/test`);

const running = new Set();
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interruption.abort();
    for (const child of running) child.kill(signal);
  });
}

const counts = new FailureCounts(files);
const spinners = Array.from({ length: load }, () => start(['-e', 'for (;;);'], { stdio: 'ignore' }));
try {
  for (let number = 1; number <= times && !interruption.signal.aborted; number += 1) await runOnce(number);
} finally {
  for (const spinner of spinners) spinner.kill('SIGKILL');
}
process.stdout.write(counts.text);
process.exit(interruption.signal.aborted ? 130 : counts.failedRuns === 0 ? 0 : 1);

/** Runs all files once and counts the failures. */
async function runOnce(number) {
  const startedAt = performance.now();
  const summary = new TestSummary();
  const child = start(['scripts/test.mjs', ...files], {
    stdio: ['ignore', 'pipe', keep === undefined ? 'ignore' : 'pipe'],
  });
  if (keep !== undefined) {
    const kept = createWriteStream(join(keep, `run-${number}.log`));
    for (const output of [child.stdout, child.stderr]) output.pipe(kept, { end: false });
    child.on('close', () => kept.end());
  }
  // The script's own list of failures comes last and repeats what ava said.
  let repeated = false;
  createInterface({ input: child.stdout }).on('line', (line) => {
    repeated ||= line === '── failed';
    if (repeated) return;
    summary.take(line);
    // At once: a run of all tests takes an hour, and may be interrupted.
    if (stripVTControlCharacters(line).trim().startsWith('✘')) process.stdout.write(`${line}\n`);
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (interruption.signal.aborted) {
    process.stdout.write(`run ${number}, interrupted: ${summary.passed} passed, ${summary.failed} failed\n`);
    return;
  }
  counts.take({ number, failed: code !== 0, failures: summary.failures });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stdout.write(
    `run ${number} of ${times}: ${summary.passed} passed, ${summary.failed} failed, ${seconds} s\n`,
  );
}

function start(words, options) {
  const child = spawn(process.execPath, words, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    ...options,
  });
  running.add(child);
  child.on('close', () => running.delete(child));
  return child;
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        times: { type: 'string', default: '10' },
        load: { type: 'string', default: '2' },
        keep: { type: 'string' },
      },
    });
    return {
      times: numberOf('--times', values.times, 1, 1_000),
      load: numberOf('--load', values.load, 0, 64),
      keep: values.keep,
      places: positionals.length > 0 ? positionals : ['dist/test'],
    };
  } catch (error) {
    return stopWith(error.message);
  }
}

function numberOf(name, text, min, max) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`${name} is ${text}; give a whole number from ${min} to ${max}`);
}

function stopWith(message) {
  process.stderr.write(`repeat-tests: ${message}\n`);
  process.exit(2);
}
