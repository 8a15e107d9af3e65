import { StoreError, type StoreFailure } from '../../../src/infra/storage/index.js';

/** What a stall of the machine brings too: the statements of a feed have 1.5 s, and it reads again by itself. */
const ofStalls: ReadonlySet<StoreFailure> = new Set(['timeout', 'unavailable']);

/** For the end of a test file: throws what parts reported, unless a stall of the machine explains it. */
export function expectNoFeedProblems(problems: readonly unknown[]): void {
  const unexplained = problems.filter(
    (problem) => !(problem instanceof StoreError && ofStalls.has(problem.failure)),
  );
  if (unexplained.length > 0)
    throw new Error('the feed of changes, or what reads by it, had problems', { cause: unexplained[0] });
}
