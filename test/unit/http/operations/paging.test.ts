import test from 'ava';
import {
  cutPage,
  decodeCursor,
  encodeCursor,
  optionalLimit,
  optionalPage,
  pageAsked,
  pageOf,
  pageQuery,
  readCursor,
  rowsFor,
  textCursor,
} from '../../../../src/http/operations/index.js';

const position = { at: new Date('2026-11-23T10:00:00.123Z'), id: '0b9d1c3e-8a7f-4a51-9a52-1b8f8d7f4f10' };
const refusal = { message: /cursor.*is not a valid cursor/ };

test('a cursor comes back as the position it was made of, and every other text is refused', (t) => {
  t.deepEqual(decodeCursor(encodeCursor(position)), position);
  for (const text of [
    '',
    '?',
    'null',
    '[]',
    '[1]',
    `["x","${position.id}"]`,
    '[1,"x"]',
    `[9e15,"${position.id}"]`,
  ]) {
    t.throws(() => decodeCursor(textCursor(text)), refusal, text);
  }
  t.is(
    readCursor(textCursor('näme'), (text) => text),
    'näme',
  );
  t.throws(() => readCursor('eA', () => undefined), refusal);
});

test('a limit is a whole number from 1, and more than 100 means 100', (t) => {
  const limitOf = (limit: string) => pageQuery.parse({ limit }).limit;
  t.is(limitOf('1'), 1);
  t.is(limitOf('100000'), 100);
  for (const wrong of ['0', '-1', '1.5', 'x', '']) t.throws(() => limitOf(wrong), undefined, wrong);
});

test('a page without a limit has 50 rows, and a list with optional pages returns all', (t) => {
  t.deepEqual(pageAsked({}), { limit: 50, after: undefined });
  t.deepEqual(pageAsked({ limit: 3, cursor: encodeCursor(position) }), { limit: 3, after: position });
  t.is(optionalLimit({}), undefined);
  t.is(optionalLimit({ cursor: 'any' }), 50);
  t.is(optionalLimit({ limit: 3 }), 3);
  t.is(rowsFor(3), 4);
  t.is(rowsFor(undefined), undefined);
});

test('one additional row shows that there is a next page', (t) => {
  const cursor = (row: number): string => `after ${row}`;
  t.deepEqual(cutPage([1, 2, 3], 2, cursor), { rows: [1, 2], nextCursor: 'after 2' });
  t.deepEqual(cutPage([1, 2], 2, cursor), { rows: [1, 2], nextCursor: null });
  t.deepEqual(cutPage([1, 2, 3], undefined, cursor), { rows: [1, 2, 3], nextCursor: undefined });
  t.deepEqual(
    pageOf([1, 2, 3], 2, (row) => row * 10, cursor),
    { success: true, data: [10, 20], count: 2, next_cursor: 'after 2' },
  );
  t.deepEqual(optionalPage([1], undefined), { success: true, data: [1], count: 1 });
  t.deepEqual(optionalPage([1], null), { success: true, data: [1], count: 1, next_cursor: null });
});
