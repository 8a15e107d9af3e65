import test from 'ava';
import { toolContext } from '../../../../src/conversations/invocation/index.js';
import { read, refused } from './reading.js';

test('bindings have the format of the context', (t) => {
  const turn = read({ bindings: { a: 'x', b: 1, c: true, d: null } });
  t.deepEqual(turn.bindings, { a: 'x', b: 1, c: true });
  t.deepEqual(turn.acceptedFields, ['message', 'bindings']);
  refused(t, { bindings: { a: {} } }, 'bindings.a');
  refused(t, { bindings: { a: [1] } }, 'bindings.a');
  for (const wrong of [null, [], 'x', 1]) refused(t, { bindings: wrong }, 'bindings');
});

test('reserved names are dropped from bindings and reported', (t) => {
  const turn = read({ bindings: { tenant_id: 'x', id: 7 } });
  t.deepEqual(turn.bindings, { id: 7 });
  t.deepEqual(turn.ignoredFields, [{ field: 'bindings.tenant_id', reason: 'reserved_key' }]);
});

test('bindings have at most 16 KB as compact JSON in UTF-8, and no other limit', (t) => {
  const frame = '{"a":""}'.length;
  t.notThrows(() => read({ bindings: { a: 'x'.repeat(16_384 - frame) } }));
  refused(t, { bindings: { a: 'x'.repeat(16_384 - frame + 1) } }, 'bindings');
  t.notThrows(() => read({ bindings: { a: 'ü'.repeat((16_384 - frame) / 2) } }));
  refused(t, { bindings: { a: 'ü'.repeat((16_384 - frame) / 2 + 1) } }, 'bindings');
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, index]));
  t.is(Object.keys(read({ bindings: many }).bindings).length, 60);
});

test('bindings are in nothing that is stored or shown', (t) => {
  const turn = read({
    context: { city: 'Lima' },
    bindings: { account: 'planted-value' },
    metadata: { a: 1 },
  });
  const { bindings, ...others } = turn;
  t.deepEqual(bindings, { account: 'planted-value' });
  t.false(JSON.stringify(others).includes('planted-value'));
});

test('if a name is in both, tools get the value of the bindings', (t) => {
  t.deepEqual(toolContext({ a: 1, b: 2 }, { b: 3, c: 4 }), { a: 1, b: 3, c: 4 });
});

test('a binding keeps its value whole, whatever its name', (t) => {
  t.deepEqual(read({ bindings: { token: 'abc' } }).bindings, { token: 'abc' });
});
