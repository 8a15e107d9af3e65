// How deep a body from outside may be nested, counted where brackets are brackets.
import test from 'ava';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { parseJson } from '../../../../src/http/operations/index.js';

function read(text: string): unknown {
  return parseJson(Buffer.from(text), { prototypeNames: 'refuse' });
}

const nested = (lists: number, objects: number, innermost = '1'): string =>
  `${'['.repeat(lists)}${'{"a":'.repeat(objects)}${innermost}${'}'.repeat(objects)}${']'.repeat(lists)}`;

for (const [lists, objects] of [
  [64, 0],
  [0, 64],
  [32, 32],
] as const) {
  test(`${lists} nested lists and ${objects} nested objects are read, and no more`, (t) => {
    const text = nested(lists, objects);
    t.is(JSON.stringify(read(text)), text);
    for (const deeper of [nested(lists + 1, objects), nested(lists, objects + 1)]) {
      t.is(t.throws(() => read(deeper), { instanceOf: PlatformError })?.code, 'malformed_body');
    }
  });
}

test('adjacent brackets and brackets in texts are not nesting', (t) => {
  for (const value of [
    Array.from({ length: 500 }, () => ({ a: [] })),
    { a: '[{'.repeat(500), b: ['\\"[{'] },
  ]) {
    t.deepEqual(read(JSON.stringify(value)), value);
  }
  const last = JSON.stringify('"[{'.repeat(100));
  t.is(t.throws(() => read(nested(65, 0, last)), { instanceOf: PlatformError })?.code, 'malformed_body');
});
