// Which rows a report adds up by itself: those before and after the hours that have sums.
import test from 'ava';
import { momentText } from '../../../../src/http/operations/index.js';
import { partsOf, reportRange } from '../../../../src/models/telemetry/index.js';

const nowMs = Date.parse('2026-11-24T11:35:20.250Z');

function rangeFor(given: { readonly start?: string; readonly end?: string }) {
  const moment = (text: string | undefined) => (text === undefined ? undefined : momentText.parse(text));
  const range = reportRange({ start_date: moment(given.start), end_date: moment(given.end) }, nowMs, 7);
  const { hours } = partsOf(range);
  return {
    range: `${range.from.toISOString()} ${range.to.toISOString()}`,
    rowsBefore: hours.from.getTime() - range.from.getTime(),
    rowsAfter: range.to.getTime() - hours.to.getTime(),
  };
}

test('a report without dates begins with an hour, ends with the present one, and reads sums alone', (t) => {
  t.deepEqual(rangeFor({}), {
    range: '2026-11-17T11:00:00.000Z 2026-11-24T12:00:00.000Z',
    rowsBefore: 0,
    rowsAfter: 0,
  });
});

test('a report until a day begins with a day', (t) => {
  t.deepEqual(rangeFor({ end: '2026-11-20' }), {
    range: '2026-11-14T00:00:00.000Z 2026-11-21T00:00:00.000Z',
    rowsBefore: 0,
    rowsAfter: 0,
  });
});

test('an end after now takes the present hour from its sums, whatever the minute', (t) => {
  t.deepEqual(rangeFor({ start: '2026-11-24', end: '2026-11-24T11:35:21Z' }), {
    range: '2026-11-24T00:00:00.000Z 2026-11-24T12:00:00.000Z',
    rowsBefore: 0,
    rowsAfter: 0,
  });
});

test('dates within hours before now are kept to the millisecond', (t) => {
  t.deepEqual(rangeFor({ start: '2026-11-24T08:59:59Z', end: '2026-11-24T11:15:00Z' }), {
    range: '2026-11-24T08:59:59.000Z 2026-11-24T11:15:00.001Z',
    rowsBefore: 1_000,
    rowsAfter: 900_001,
  });
});
