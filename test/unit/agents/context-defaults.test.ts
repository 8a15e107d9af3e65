import test from 'ava';
import { parsePath } from '../../../src/agents/schemas/context-path.js';
import { withContextDefaults } from '../../../src/agents/tools/context-defaults.js';

const put = (args: Record<string, unknown>, path: string, value: unknown) =>
  withContextDefaults(args, { [path]: 'name' }, { name: value }).args;

test('a context value replaces whatever the model gave', (t) => {
  t.deepEqual(put({ id: 'forged', other: 1 }, 'id', 'real'), { id: 'real', other: 1 });
  t.deepEqual(put({}, 'id', 5), { id: 5 });
  t.deepEqual(put({ a: { b: { c: 'forged', d: 1 } } }, 'a.b.c', 'real'), { a: { b: { c: 'real', d: 1 } } });
  t.deepEqual(put({}, 'a.b.c', 'real'), { a: { b: { c: 'real' } } });
  t.deepEqual(put({ a: 'not an object' }, 'a.b', 'real'), { a: { b: 'real' } });
});

test('in lists it replaces the value in every item, also if the model gave one object instead of a list', (t) => {
  t.deepEqual(put({ body: [{ id: 'forged' }, {}] }, 'body[].id', 'real'), {
    body: [{ id: 'real' }, { id: 'real' }],
  });
  t.deepEqual(put({ body: { id: 'forged' } }, 'body[].id', 'real'), { body: { id: 'real' } });
  t.deepEqual(put({ body: [[{ id: 'forged' }]] }, 'body[].id', 'real'), { body: [[{ id: 'real' }]] });
  t.deepEqual(put({ a: [{ b: [{ c: 1 }, { c: 2 }] }] }, 'a[].b[].c', 0), {
    a: [{ b: [{ c: 0 }, { c: 0 }] }],
  });
  t.deepEqual(put({ m: [[{ x: 1 }], { x: 2 }] }, 'm[][].x', 0), { m: [[{ x: 0 }], { x: 0 }] });
  t.deepEqual(put({ ids: ['forged', 'forged'] }, 'ids[]', 'real'), { ids: ['real', 'real'] });
  t.deepEqual(put({}, 'ids[]', 'real'), { ids: ['real'] });
});

test('every call takes the value, also one whose list is missing, empty or holds no objects', (t) => {
  for (const args of [
    {},
    { body: null },
    { body: [] },
    { body: 'text' },
    { body: ['text'] },
    { body: [[]] },
  ]) {
    t.deepEqual(put(args, 'body[].id', 'real'), { body: [{ id: 'real' }] }, JSON.stringify(args));
  }
  t.deepEqual(put({ body: [{ id: 'forged' }, 'text', null] }, 'body[].id', 'real'), {
    body: [{ id: 'real' }, { id: 'real' }, { id: 'real' }],
  });
  t.deepEqual(put({}, 'm[][].x', 0), { m: [[{ x: 0 }]] });
  t.deepEqual(put({ m: [[], [{ x: 1 }]] }, 'm[][].x', 0), { m: [[{ x: 0 }], [{ x: 0 }]] });
  t.deepEqual(put({ a: [{ b: [] }, {}] }, 'a[].b[].c', 0), { a: [{ b: [{ c: 0 }] }, { b: [{ c: 0 }] }] });
  const defaults = { 'body[].id': 'user', 'body[].team.id': 'team' };
  t.deepEqual(withContextDefaults({}, defaults, { user: 'u1', team: 't1' }), {
    args: { body: [{ id: 'u1', team: { id: 't1' } }] },
    missing: [],
  });
});

test('missing context is reported and leaves the arguments unchanged', (t) => {
  const args = { id: 'said by the model' };
  const defaults = { id: 'user', team: 'toString' };
  t.deepEqual(withContextDefaults(args, defaults, {}), { args, missing: ['user', 'toString'] });
  t.deepEqual(withContextDefaults(args, { id: 'user' }, { user: null }).missing, ['user']);
  withContextDefaults(args, { id: 'user' }, { user: 'real' });
  t.deepEqual(args, { id: 'said by the model' }, 'the given arguments are not changed');
});

test('texts that are not paths are refused', (t) => {
  for (const text of [
    '',
    '.',
    'a.',
    '[].a',
    'a[0]',
    'a[].',
    'a..b',
    'a b',
    '__proto__.x',
    'a.constructor',
    'a[][][][]',
  ]) {
    t.is(parsePath(text), undefined, text);
  }
  t.deepEqual(parsePath('body[].requesterId'), [
    { name: 'body', lists: 1 },
    { name: 'requesterId', lists: 0 },
  ]);
});
