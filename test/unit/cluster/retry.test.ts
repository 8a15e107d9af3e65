import test from 'ava';
import type { Method } from '../../../cluster/activation/method.js';
import { ClusterError, type ClusterErrorTag } from '../../../cluster/errors.js';
import { retryAfter } from '../../../cluster/routing/retry.js';
import { methodsOf } from '../../../cluster/activation/method.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';

const methods = methodsOf(CounterServiceDefinition, { read: { idempotent: true } });

function methodNamed(name: string): Method {
  const method = methods.get(name);
  if (method === undefined) throw new Error(`the counter has no method ${name}`);
  return method;
}

const decide = (tag: ClusterErrorTag, isIdempotent: boolean, notBegun: boolean) =>
  retryAfter(
    new ClusterError(tag, 'as planned', notBegun ? { notBegun } : {}),
    methodNamed(isIdempotent ? 'read' : 'add'),
  );

for (const tag of ['peer_lost', 'fenced', 'outcome_unknown', 'not_serving'] as const) {
  test(`after ${tag} a call that may have run is repeated only if its method allows it`, (t) => {
    t.is(decide(tag, false, false), 'end');
    t.is(decide(tag, true, false), 'pause');
    t.is(decide(tag, false, true), 'pause', 'no handler has started it');
  });
}

test('a call whose store failed is repeated only if its method allows it, and for a bounded time', (t) => {
  t.is(decide('store_unavailable', false, false), 'end');
  t.is(decide('store_unavailable', true, false), 'pause_for_store');
  t.is(decide('store_unavailable', false, true), 'pause_for_store');
});

test('a refusal for overload is not repeated, so that callers slow down', (t) => {
  t.is(decide('overloaded', true, true), 'end');
});
