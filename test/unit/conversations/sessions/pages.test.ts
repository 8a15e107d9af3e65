import test from 'ava';
import { numberAfter, numberCursor } from '../../../../src/conversations/sessions/pages.js';

test('a message cursor returns its number, and no cursor starts at the beginning', (t) => {
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
  test(`${JSON.stringify(cursor)} is not a valid message cursor`, (t) => {
    const refusal = t.throws(() => numberAfter(cursor));
    t.like(refusal, { code: 'validation_error', details: { field: 'cursor' } });
  });
}
