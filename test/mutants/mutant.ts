/**
 * `members` runs membership alone, `cluster` whole nodes, `quota` the quota of the platform on them, `conversations` its
 * inbox, sessions, turns, ledger and outbox.
 */
export type Simulation = 'members' | 'cluster' | 'quota' | 'conversations';

/** A small change of one source file that takes one rule away. Some test or simulated cluster must notice it. */
export interface Mutant {
  /** Short and unique; names the row of `docs/protocol/mutants.md`. */
  readonly id: string;
  readonly file: string;
  /** The rule that the change takes away, as a sentence. */
  readonly rule: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Tests of other places than `test/unit/cluster` that may notice it, as paths or globs of sources. */
  readonly tests: readonly string[];
  /** Which simulations may notice it, the fastest first. */
  readonly simulations: readonly Simulation[];
  /** Why nothing can notice it, for one that is known to escape. */
  readonly escapes: string | undefined;
}

interface Change {
  readonly id: string;
  readonly rule: string;
  readonly find: string;
  readonly replace: string;
  /** The nearest tests, in place of those of its file. */
  readonly tests?: readonly string[];
  readonly escapes?: string;
}

type Noticing = Partial<Pick<Mutant, 'tests' | 'simulations'>>;

/** The mutants of one file. */
export function mutantsOf(file: string, changes: readonly Change[], noticing: Noticing = {}): Mutant[] {
  const simulations = simulationsOf(file);
  return changes.map((change) => ({
    escapes: undefined,
    tests: [],
    simulations,
    ...noticing,
    ...change,
    file,
  }));
}

function simulationsOf(file: string): readonly Simulation[] {
  if (file.startsWith('cluster/membership/')) return ['members', 'cluster'];
  return file.startsWith('cluster/') ? ['cluster'] : [];
}

/** The mutated text of the file. Throws if the code has moved, so that no mutant is tried on unchanged code. */
export function mutate(text: string, { id, file, find, replace }: Mutant): string {
  const places = text.split(find).length - 1;
  if (places !== 1) {
    throw new Error(
      `mutant ${id}: its text must occur once in ${file}, but occurs ${places} times; adapt it to the code`,
    );
  }
  if (find === replace) throw new Error(`mutant ${id} changes nothing in ${file}`);
  return text.replace(find, () => replace);
}
