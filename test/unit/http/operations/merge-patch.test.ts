import test from 'ava';
import { mergePatch } from '../../../../src/http/operations/index.js';

// The examples of RFC 7396, appendix A, with objects as patches; the other patches replace the whole document, which no
// operation accepts.
const examples: readonly (readonly [unknown, Record<string, unknown>, unknown])[] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

for (const [target, patch, result] of examples) {
  test(`${JSON.stringify(target)} patched by ${JSON.stringify(patch)} is ${JSON.stringify(result)}`, (t) => {
    const before = JSON.stringify(target);
    t.deepEqual(mergePatch(target, patch), result);
    t.is(JSON.stringify(target), before, 'the target is not changed');
  });
}

test('a patch reaches no prototype', (t) => {
  const patch = JSON.parse(
    '{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": true}}}',
  ) as Record<string, unknown>;
  const merged = mergePatch({ a: {} }, patch);
  t.false('polluted' in {});
  t.is(Object.getPrototypeOf(merged), Object.prototype);
});
