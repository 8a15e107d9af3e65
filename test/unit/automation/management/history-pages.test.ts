import test from 'ava';
import { mergedPage } from '../../../../src/automation/management/history-pages.js';

const row = (hour: number) => ({ id: `r${hour}`, created_at: new Date(Date.UTC(2026, 0, 1, hour)) });
const rows = (...hours: number[]) => hours.map(row);
const hours = ({ rows: given }: { readonly rows: readonly { readonly id: string }[] }) =>
  given.map(({ id }) => Number(id.slice(1)));

test('rows of two lists are one page, newest first', (t) => {
  const page = mergedPage(
    [
      { rows: rows(9, 7), hasMore: false },
      { rows: rows(8), hasMore: false },
    ],
    2,
  );
  t.deepEqual(hours(page), [9, 8]);
  t.true(page.hasMore);
});

test('a row behind the end of a list that has more waits for the next page', (t) => {
  const page = mergedPage(
    [
      { rows: rows(9, 7), hasMore: true },
      { rows: rows(8, 5), hasMore: false },
    ],
    10,
  );
  t.deepEqual(hours(page), [9, 8, 7], 'the list that has more may go on with 6');
  t.true(page.hasMore);
  const whole = mergedPage(
    [
      { rows: rows(9, 7), hasMore: false },
      { rows: rows(8, 5), hasMore: false },
    ],
    10,
  );
  t.deepEqual(hours(whole), [9, 8, 7, 5]);
  t.false(whole.hasMore);
});

test('a list from which rows were left out ends where it ended before', (t) => {
  const page = mergedPage(
    [
      { rows: rows(9, 4), hasMore: false },
      { rows: [], hasMore: true, end: row(6) },
    ],
    10,
  );
  t.deepEqual(hours(page), [9], 'that list may go on with 5');
  t.true(page.hasMore);
});
