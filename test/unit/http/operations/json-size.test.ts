import test from 'ava';
import fc from 'fast-check';
import { parseJson } from '../../../../src/http/operations/index.js';
import { depthMax, JsonSize, valuesMax } from '../../../../src/kernel/json-size.js';

const read = (text: string): unknown => parseJson(Buffer.from(text), { prototypeNames: 'refuse' });

test('the allowed number of values is read, and one more is refused', (t) => {
  // Each element but the first follows a comma, and the list counts as one.
  const list = (length: number): string => `[${'0,'.repeat(length - 1)}0]`;
  t.is((read(list(valuesMax)) as readonly number[]).length, valuesMax);
  t.throws(() => read(list(valuesMax + 1)), { message: /more than 50000 keys and list elements/ });
  t.throws(() => read(`[${'{},'.repeat(valuesMax / 2)}{}]`), { message: /keys and list elements/ });
  const keys = Array.from({ length: valuesMax + 1 }, (_, index) => `"${index}":0`).join(',');
  t.throws(() => read(`{${keys}}`), { message: /keys and list elements/ });
});

test('commas and brackets in texts are not values', (t) => {
  const text = `\\"[{,`.repeat(valuesMax);
  t.is((read(`["${text}"]`) as readonly string[])[0]?.length, 4 * valuesMax);
});

test('the count does not depend on how the bytes are split', (t) => {
  const json = fc.json({ maxDepth: 5 });
  const property = fc.property(json, fc.array(fc.nat(20), { maxLength: 20 }), (text, cuts) => {
    const bytes = Buffer.from(`[${text},"\\\\\\"",${'['.repeat(depthMax)}`);
    const whole = new JsonSize().add(bytes);
    const size = new JsonSize();
    let inPieces: string | undefined;
    let at = 0;
    for (const cut of [...cuts, bytes.length]) {
      inPieces ??= size.add(bytes.subarray(at, at + cut));
      at += cut;
    }
    return whole !== undefined && whole === inPieces;
  });
  t.notThrows(() => fc.assert(property));
});
