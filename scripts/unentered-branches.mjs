// Which branches of the runtime no simulated cluster enters: node scripts/unentered-branches.mjs [--seeds 2000].
// They are code that only the tests of single parts and the real faults check.
import '../bin/supported-node.mjs';
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mergeProcessCovs } from '@bcoe/v8-coverage';
import { build } from './build.mjs';

const parts = ['membership', 'activation', 'recovery', 'drain', 'fencing'];
/** Redis, PostgreSQL and processes that end stand outside the simulation, which has its own. */
const outside = /\/(?:redis|postgres|watchdog|local)\//;

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '2000' } } });
const compiled = new URL('../dist/cluster/', import.meta.url);
const root = fileURLToPath(new URL('../', import.meta.url));
await build();

const folder = await mkdtemp(join(tmpdir(), 'troupe-branches-'));
try {
  for (const of of ['cluster', 'members']) await simulate(of);
  const { entered, all } = await report(await coverage());
  process.stdout.write(`branches: ${entered} of ${all} functions and branches were entered\n`);
} finally {
  await rm(folder, { recursive: true });
}

async function simulate(of) {
  const script = fileURLToPath(new URL('simulate.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, '--of', of, '--seeds', values.seeds], {
    stdio: 'inherit',
    env: { ...process.env, NODE_V8_COVERAGE: folder },
  });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`branches: the simulation of ${of} failed; run it alone to see why`);
}

/** The counts of all processes together, for the files of the parts. */
async function coverage() {
  const found = [];
  for (const name of await readdir(folder)) {
    const { result } = JSON.parse(await readFile(join(folder, name), 'utf8'));
    const wanted = result.filter(
      ({ url }) =>
        parts.some((part) => url.startsWith(new URL(`${part}/`, compiled).href)) && !outside.test(url),
    );
    found.push({ result: wanted });
  }
  return mergeProcessCovs(found).result;
}

/** Prints each branch that no process entered, by its place in the source. */
async function report(scripts) {
  let [entered, all] = [0, 0];
  for (const { url, functions } of scripts.toSorted((one, other) => (one.url < other.url ? -1 : 1))) {
    const code = await readFile(new URL(url), 'utf8');
    const map = new SourceMap(JSON.parse(await readFile(new URL(`${url}.map`), 'utf8')));
    const lines = [];
    for (const { ranges } of functions) {
      all += ranges.length;
      entered += ranges.filter(({ count }) => count > 0).length;
      for (const range of outermost(ranges)) lines.push(lineOf(map, code, range));
    }
    if (lines.length === 0) continue;
    const file = relative(root, fileURLToPath(url)).replace(/^dist\/(.*)\.js$/, '$1.ts');
    const source = (await readFile(join(root, file), 'utf8')).split('\n');
    for (const line of [...new Set(lines)].toSorted((one, other) => one - other)) {
      process.stdout.write(`${file}:${line}  ${source[line - 1]?.trim()}\n`);
    }
  }
  return { entered, all };
}

/** Without those inside another that was not entered. */
function outermost(ranges) {
  const missed = ranges.filter(({ count }) => count === 0);
  return missed.filter(
    (one) =>
      !missed.some(
        (other) => other !== one && other.startOffset <= one.startOffset && other.endOffset >= one.endOffset,
      ),
  );
}

/** A range may begin with the space or brace before its first statement. */
function lineOf(map, code, { startOffset, endOffset }) {
  const body = code.slice(startOffset, endOffset);
  const skipped = /^[\s{:?]*/.exec(body)?.[0].length ?? 0;
  const before = code.slice(0, startOffset + skipped).split('\n');
  const { originalLine } = map.findEntry(before.length - 1, before.at(-1)?.length ?? 0);
  return (originalLine ?? 0) + 1;
}
