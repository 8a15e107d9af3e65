import test from 'ava';
import { numberAfter, numberCursor } from '../../../../src/conversations/sessions/pages.js';

test('a cursor of messages gives its number back, and no cursor begins at the beginning', (t) => {
  t.is(numberAfter(numberCursor(17)), 17);
  t.is(numberAfter(undefined), 0);
});

for (const cursor of [
  '',
  '!!',
  Buffer.from(' 1').toString('base64url'),
  Buffer.from('-1').toString('base64url'),
  Buffer.from('1e3').toString('base64url'),
]) {
  test(`what no list of messages gave is no cursor: ${JSON.stringify(cursor)}`, (t) => {
    const refusal = t.throws(() => numberAfter(cursor));
    t.like(refusal, { code: 'validation_error', details: { field: 'cursor' } });
  });
}
