import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant, Simulation } from './mutant.js';
import type { Outcome } from './table.js';

export interface TrialParts {
  /** The mutated copy of the project. */
  readonly folder: string;
  /** For tests that need a database. */
  readonly environment: Readonly<Record<string, string>>;
  readonly seedsMax: number;
  /** Only what comes after the seeds that a mutant is known to have escaped. */
  readonly goesOn: boolean;
  /** Only the nearest tests and a few seeds, to sort a new list. */
  readonly isQuick: boolean;
}

/** A test run or a batch of seeds that lasts longer does not end by itself. */
const testsMs = 300_000;
const seedsMs = 1_200_000;
/** Most mutants that seeds notice are noticed by one of the first, sooner than by the slower tests. */
const firstSeeds: Readonly<Record<Simulation, number>> = {
  members: 300,
  cluster: 30,
  quota: 30,
  conversations: 30,
};

/** Tries what noticed the mutant before, then the cheapest checks first; ends at the first that notices it. Undefined if a quick trial found nothing. */
export async function tryMutant(
  parts: TrialParts,
  mutant: Mutant,
  before: Outcome | undefined,
): Promise<Outcome | undefined> {
  const { seedsMax, isQuick } = parts;
  if (isQuick) return tryFirst(parts, mutant, before);
  const escaped = parts.goesOn && before?.caughtBy === 'nothing' ? before.seeds : 0;
  const first = escaped > 0 ? undefined : await tryFirst(parts, mutant, before);
  return (
    first ??
    (await tryLast(parts, mutant, escaped)) ?? {
      caughtBy: 'nothing',
      seeds: mutant.simulations.length === 0 ? 0 : seedsMax,
    }
  );
}

async function tryFirst(
  parts: TrialParts,
  mutant: Mutant,
  before: Outcome | undefined,
): Promise<Outcome | undefined> {
  const known = before === undefined ? undefined : await repeat(parts, before);
  if (known !== undefined) return known;
  const own = mutant.tests.flatMap(testFiles);
  const near = nearTests(mutant);
  const found =
    (await runTests(parts, own)) ??
    (await firstSeedsOf(parts, mutant, 'members')) ??
    (await runTests(parts, near)) ??
    (await firstSeedsOf(parts, mutant, 'quota')) ??
    (await firstSeedsOf(parts, mutant, 'conversations')) ??
    (await firstSeedsOf(parts, mutant, 'cluster'));
  if (found !== undefined || parts.isQuick || !isOfRuntime(mutant)) return found;
  const others = testFiles('test/unit/cluster/').filter(
    (file) => !near.includes(file) && !own.includes(file),
  );
  return runTests(parts, others);
}

async function firstSeedsOf(
  parts: TrialParts,
  { simulations }: Mutant,
  simulation: Simulation,
): Promise<Outcome | undefined> {
  if (!simulations.includes(simulation)) return undefined;
  const count = Math.ceil(firstSeeds[simulation] / (parts.isQuick ? 3 : 1));
  return runSeeds(parts, simulation, 1, count);
}

async function tryLast(parts: TrialParts, mutant: Mutant, escaped: number): Promise<Outcome | undefined> {
  const { seedsMax } = parts;
  if (seedsMax <= firstSeeds.cluster) return undefined;
  const failed = isOfRuntime(mutant)
    ? await runTests(parts, ['test/simulation/schedules.test.ts'])
    : undefined;
  if (failed !== undefined) return failed;
  for (const simulation of mutant.simulations) {
    const from = Math.max(escaped, firstSeeds[simulation]) + 1;
    const found = await runSeeds(parts, simulation, from, seedsMax - from + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isOfRuntime({ simulations }: Mutant): boolean {
  return simulations.includes('cluster');
}

/** The unit tests of the same subject: `cluster/membership/…` has its own in `test/unit/cluster/membership/`. */
function nearTests({ file }: Mutant): readonly string[] {
  const folder = `test/unit/${file.split('/').slice(0, 2).join('/')}/`;
  return file.startsWith('cluster/') && existsSync(folder) ? testFiles(folder) : [];
}

/** What noticed a mutant before, alone; undefined if it does not notice it any more. */
export function repeat(parts: TrialParts, outcome: Outcome): Promise<Outcome | undefined> {
  switch (outcome.caughtBy) {
    case 'test':
      return runTests(parts, [outcome.path]);
    case 'seed':
      return runSeeds(parts, outcome.simulation, outcome.seed, 1);
    case 'nothing':
      return Promise.resolve(undefined);
  }
}

/** A test, or all tests of a folder if the name ends with a slash. */
function testFiles(name: string): readonly string[] {
  if (!name.endsWith('/')) return [name];
  return readdirSync(name, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(name, path))
    .sort();
}

/** The first failure of these tests; undefined if all pass. */
export async function runTests(
  { folder, environment }: TrialParts,
  files: readonly string[],
): Promise<Outcome | undefined> {
  if (files.length === 0) return undefined;
  const ava = join(folder, 'node_modules/ava/entrypoints/cli.mjs');
  const built = files.map((file) => join('dist', file.replace(/\.ts$/, '.js')));
  const options = ['--tap', '--fail-fast', '--concurrency', '1'];
  const { output, code } = await outputOf([ava, ...options, ...built], folder, environment, testsMs);
  if (code === 0) return undefined;
  const title = /^not ok \d+ - (.*)$/m.exec(output)?.[1] ?? '';
  if (title === '' && code !== undefined && /^# no tests|Couldn.t find/m.test(output)) {
    throw new Error(`the tests could not be run: ${output.slice(-2_000)}`);
  }
  return { caughtBy: 'test', ...locate(title, files) };
}

/** Ava puts the path in front of the title, without the folders that all files share. */
function locate(title: string, files: readonly string[]): { readonly path: string; readonly title: string } {
  const shown = title === '' ? 'does not end by itself, or ends early' : title;
  if (files.length === 1) return { path: files[0] ?? '', title: shown };
  const words = title.split(' › ');
  for (let count = words.length - 1; count > 0; count -= 1) {
    const path = files.find((file) => file.endsWith(`/${words.slice(0, count).join('/')}.test.ts`));
    if (path !== undefined) return { path, title: words.slice(count).join(' › ') };
  }
  return { path: files[0] ?? '', title: shown };
}

/** The first seed with a violation. One that does not end counts too. */
export async function runSeeds(
  { folder, environment }: TrialParts,
  simulation: Simulation,
  first: number,
  count: number,
): Promise<Outcome | undefined> {
  if (count <= 0) return undefined;
  const program = join(folder, 'dist/test/mutants/seeds.js');
  const run = [program, simulation, String(first), String(count)];
  const { output, code } = await outputOf(run, folder, environment, seedsMs);
  const { seed } = JSON.parse(/^\{.*\}$/m.exec(output)?.[0] ?? '{}') as { readonly seed?: number };
  if (seed !== undefined) return { caughtBy: 'seed', simulation, seed };
  return code === 0 ? undefined : { caughtBy: 'seed', simulation, seed: first };
}

interface Ended {
  readonly output: string;
  /** Undefined if the program was ended because of its time. */
  readonly code: number | undefined;
}

function outputOf(
  program: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
  boundMs: number,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that the processes of tests end with it.
    const child = spawn(process.execPath, program, {
      cwd,
      detached: true,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const parts: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => parts.push(text));
    }
    let late = false;
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group has ended.
      }
    };
    const timer = setTimeout(() => {
      late = true;
      end();
    }, boundMs);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      end();
      resolve({ output: parts.join(''), code: late ? undefined : (code ?? 1) });
    });
  });
}
