import type { Mutant, Simulation } from './mutant.js';

/** What noticed a mutant. */
export type Outcome =
  | { readonly caughtBy: 'test'; readonly path: string; readonly title: string }
  | { readonly caughtBy: 'seed'; readonly simulation: Simulation; readonly seed: number }
  /** Neither the tests nor so many seeds noticed it. */
  | { readonly caughtBy: 'nothing'; readonly seeds: number };

const head = '| mutant | rule that it takes away | file | caught by |\n|---|---|---|---|';

/** The rows of the page, so that a later run first tries what noticed a mutant before. */
export function readOutcomes(page: string): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const line of page.split('\n')) {
    const cells = /^\| `([\w-]+)` \|.*\| ([^|]*) \|$/.exec(line);
    const outcome = outcomeOf(cells?.[2] ?? '');
    if (cells?.[1] !== undefined && outcome !== undefined) outcomes.set(cells[1], outcome);
  }
  return outcomes;
}

function outcomeOf(cell: string): Outcome | undefined {
  const test = /^`([^`]+)`: (.*)$/.exec(cell);
  if (test !== null) return { caughtBy: 'test', path: test[1] ?? '', title: test[2] ?? '' };
  const seed = /^seed (\d+) of (members|cluster|quota|conversations)$/.exec(cell);
  if (seed !== null) {
    return { caughtBy: 'seed', simulation: seed[2] as Simulation, seed: Number(seed[1]) };
  }
  const escaped = /^\*\*escaped\*\* .*?(\d+) seeds/.exec(cell);
  return escaped === null ? undefined : { caughtBy: 'nothing', seeds: Number(escaped[1]) };
}

function cellOf(outcome: Outcome | undefined, { escapes }: Mutant): string {
  if (outcome === undefined) return 'not tried to the end yet';
  switch (outcome.caughtBy) {
    case 'test':
      return `\`${outcome.path}\`: ${outcome.title}`;
    case 'seed':
      return `seed ${outcome.seed} of ${outcome.simulation}`;
    case 'nothing':
      return `**escaped** the tests and ${outcome.seeds} seeds${escapes === undefined ? '' : `: ${escapes}`}`;
  }
}

/** Pipes would end the cell. */
function plain(text: string): string {
  return text.replaceAll('|', '/');
}

interface Part {
  readonly title: string;
  readonly mutants: readonly Mutant[];
}

export function renderPage(parts: readonly Part[], outcomes: ReadonlyMap<string, Outcome>): string {
  const tables = parts.map(({ title, mutants }) => {
    const rows = mutants.map((mutant) => {
      const cell = cellOf(outcomes.get(mutant.id), mutant);
      return `| \`${mutant.id}\` | ${plain(mutant.rule)} | \`${mutant.file}\` | ${plain(cell)} |`;
    });
    return `## ${title}\n\n${scoreOf(mutants, outcomes)}\n\n${[head, ...rows].join('\n')}\n`;
  });
  return `${introduction}\n${tables.join('\n')}`;
}

function scoreOf(mutants: readonly Mutant[], outcomes: ReadonlyMap<string, Outcome>): string {
  const found = mutants.map(({ id }) => outcomes.get(id));
  const tried = found.filter((outcome) => outcome !== undefined);
  const escaped = tried.filter(({ caughtBy }) => caughtBy === 'nothing').length;
  const bySeeds = tried.filter(({ caughtBy }) => caughtBy === 'seed').length;
  const caught = tried.length - escaped;
  const share = ` (${((caught / mutants.length) * 100).toFixed(1)} % of all)`;
  const open = mutants.length - tried.length;
  return (
    `${mutants.length} mutants: ${caught} caught${share}, ${caught - bySeeds} of them by tests and ${bySeeds} by ` +
    `drawn schedules; ${escaped} escaped${open === 0 ? '' : `; ${open} not tried to the end yet`}.`
  );
}

const introduction = `# Mutants

A check that cannot fail proves nothing. Each row is a small change of the code that takes one rule away, and what noticed it: a test, or the number of the first simulated cluster (\`node scripts/simulate.mjs --of members --seed N\`) with a violation.

\`\`\`sh not-run=long
npm run mutants                    # every mutant: first what noticed it before, then its tests, then 2,000 seeds
npm run mutants -- --only a,b      # some of them, by name
npm run mutants -- --new           # those that have not been tried to the end or have escaped
npm run mutants -- --sample 12     # a fixed sample; fails if one of them escapes
\`\`\`

The command writes this page. The mutants are in \`test/mutants/\`; \`test/unit/mutants.test.ts\` fails when the code of one has moved. When one escapes, the tests or the simulation get better; the list does not get shorter.
`;
