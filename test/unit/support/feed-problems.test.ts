import test from 'ava';
import { StoreError } from '../../../src/infra/storage/index.js';
import { expectNoFeedProblems } from '../../support/servers/feed-problems.js';

test('time-outs and a database that is away are no problems of a feed; all others are', (t) => {
  const stalls = [new StoreError('timeout', 'late'), new StoreError('unavailable', 'away')];
  t.notThrows(() => expectNoFeedProblems([]));
  t.notThrows(() => expectNoFeedProblems(stalls));
  for (const problem of [new StoreError('defect', 'wrong'), new Error('a subscriber threw'), undefined]) {
    const error = t.throws(() => expectNoFeedProblems([...stalls, problem]));
    t.is(error?.cause, problem);
  }
});
