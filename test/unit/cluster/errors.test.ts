import test from 'ava';
import {
  ActorError,
  ClusterError,
  clusterErrorTags,
  tagOfWireCode,
  toClusterError,
  wireCodeOf,
} from '../../../cluster/index.js';

test('every tag has a unique wire code that maps back to the tag', (t) => {
  const codes = clusterErrorTags.map(wireCodeOf);
  t.is(new Set(codes).size, codes.length);
  for (const tag of clusterErrorTags) t.is(tagOfWireCode(wireCodeOf(tag)), tag);
});

test('an unknown wire code of a newer version maps to a failure that is not retried', (t) => {
  t.is(new ClusterError(tagOfWireCode(9_999), 'x').retry, 'never');
});

test('a typed failure of an actor kind keeps its code and its retry class', (t) => {
  const error = new ActorError('budget_spent', 'no tokens left', { detail: '{"limit":5}', retryable: true });
  t.is(toClusterError(error), error);
  t.deepEqual(
    [error.tag, error.code, error.detail, error.retry],
    ['application', 'budget_spent', '{"limit":5}', 'later'],
  );
});

test('an untyped error of a method is kept as the cause', (t) => {
  const cause = new RangeError('boom');
  const error = toClusterError(cause);
  t.is(error.tag, 'handler_failed');
  t.is(error.cause, cause);
});
