// Tries the mutants of test/mutants and writes docs/protocol/mutants.md, or, with --sample 12, only checks a fixed
// sample of those that tests are known to catch. --only a,b: these. --new: those not tried yet, or escaped. --go-on:
// after the seeds that a mutant has escaped. --quick: only the nearest tests and a few seeds. --page: only writes the
// page again.
import '../bin/supported-node.mjs';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
await build();
const { parts } = await import('../dist/test/mutants/index.js');
const { readOutcomes, renderPage } = await import('../dist/test/mutants/table.js');
const { Workspace } = await import('../dist/test/mutants/workspace.js');
const { repeat, tryMutant } = await import('../dist/test/mutants/trial.js');

const page = 'docs/protocol/mutants.md';
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    new: { type: 'boolean', default: false },
    'go-on': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seeds: { type: 'string', default: '2000' },
  },
});
const mutants = parts.flatMap((part) => part.mutants);
const before = new Map(existsSync(page) ? readOutcomes(readFileSync(page, 'utf8')) : []);
const outcomes = new Map(before);
if (values.page) {
  writeFileSync(page, renderPage(parts, outcomes));
  process.exit(0);
}
const chosen = choose();
const needsDatabase = ({ id, tests }) => {
  const known = before.get(id);
  if (known?.caughtBy === 'test') return !known.path.startsWith('test/unit/');
  return tests.some((path) => !path.startsWith('test/unit/'));
};
const database = chosen.some(needsDatabase) ? await startDatabase() : undefined;
const workspace = new Workspace(root);
const trial = {
  folder: workspace.folder,
  environment: { ...database?.environment, TROUPE_TEST_RUN: randomBytes(4).toString('hex') },
  seedsMax: Number(values.seeds),
  goesOn: values['go-on'],
  isQuick: values.quick,
};
let escaped = 0;
try {
  for (const mutant of chosen) await one(mutant);
  await checkUnchanged();
} finally {
  workspace.remove();
  await database?.stop();
}
process.stdout.write(`mutants: ${chosen.length - escaped} of ${chosen.length} caught\n`);
// Escapees with a reason are listed on the page; the sample holds only mutants that are caught.
process.exit(escaped > 0 && values.sample !== undefined ? 1 : 0);

function choose() {
  const names = values.only?.split(',');
  const unknown = names?.filter((name) => !mutants.some(({ id }) => id === name)) ?? [];
  if (unknown.length > 0) {
    process.stderr.write(`mutants: no mutant is named ${unknown.join(', ')}; see ${page}\n`);
    process.exit(2);
  }
  if (names !== undefined || values.new) {
    const isNew = ({ id }) => !values.new || (before.get(id)?.caughtBy ?? 'nothing') === 'nothing';
    return mutants.filter((mutant) => (names?.includes(mutant.id) ?? true) && isNew(mutant));
  }
  if (values.sample === undefined) return mutants;
  const quick = mutants.filter(({ id }) => {
    const known = before.get(id);
    return known?.caughtBy === 'test' && known.path.startsWith('test/unit/');
  });
  // Evenly over the list, so that the sample reaches every subject.
  const count = Math.min(Number(values.sample), quick.length);
  return Array.from({ length: count }, (_, index) => quick[Math.floor((index * quick.length) / count)]);
}

async function one(mutant) {
  const { id } = mutant;
  const startedAt = performance.now();
  const restore = await workspace.apply(mutant);
  try {
    const outcome = await tryMutant(trial, mutant, before.get(id));
    if (outcome !== undefined) outcomes.set(id, outcome);
    if ((outcome?.caughtBy ?? 'nothing') === 'nothing') escaped += 1;
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(
      `${seconds.padStart(6)} s  ${id}: ${Object.values(outcome ?? { not: 'noticed' }).join(', ')}\n`,
    );
  } finally {
    restore();
  }
  if (values.sample === undefined) writeFileSync(page, renderPage(parts, outcomes));
}

/** Whatever notices mutants must pass on the code as it is; otherwise it noticed something else. */
async function checkUnchanged() {
  const seen = new Map();
  for (const { id } of chosen) {
    const { title: _, ...outcome } = outcomes.get(id) ?? { caughtBy: 'nothing' };
    if (outcome.caughtBy !== 'nothing') seen.set(JSON.stringify(outcome), outcome);
  }
  for (const outcome of seen.values()) {
    const failed = await repeat(trial, outcome);
    if (failed === undefined) continue;
    process.stderr.write(`mutants: fails without any mutant: ${Object.values(failed).join(', ')}\n`);
    process.exitCode = 1;
    throw new Error('what notices mutants must pass on the code as it is');
  }
}

async function startDatabase() {
  const { provideDatabase } = await import('./test-database.mjs');
  return provideDatabase(randomBytes(4).toString('hex'));
}
