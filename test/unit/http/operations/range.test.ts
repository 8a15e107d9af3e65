import test from 'ava';
import { momentText } from '../../../../src/http/operations/index.js';
import { boundsOf, rangeOf } from '../../../../src/http/operations/range.js';

const nowMs = Date.parse('2026-11-24T11:35:20.250Z');

function given(start?: string, end?: string) {
  const moment = (text: string | undefined) => (text === undefined ? undefined : momentText.parse(text));
  return { start_date: moment(start), end_date: moment(end) };
}

test('an ISO 8601 moment is read with a T or a space, and with each form of offset', (t) => {
  const forms = {
    '2026-11-24': '2026-11-24T00:00:00.000Z',
    '2026-11-24 06:00': '2026-11-24T06:00:00.000Z',
    '2026-11-24 06:00:30': '2026-11-24T06:00:30.000Z',
    '2026-11-24T06:00+02:00': '2026-11-24T04:00:00.000Z',
    '2026-11-24T06:00-0530': '2026-11-24T11:30:00.000Z',
    '2026-11-24T06:00:00+02': '2026-11-24T04:00:00.000Z',
    // The plus signs were not percent-encoded.
    '2026-11-24T06:00 02:00': '2026-11-24T04:00:00.000Z',
    '2026-11-24 06:00:00.5 02': '2026-11-24T04:00:00.500Z',
  };
  for (const [text, at] of Object.entries(forms)) t.is(momentText.parse(text).at.toISOString(), at, text);
  for (const text of ['2026-11-24 06', '2026-11-24+02:00', '2026-02-30', '2026-11-24T06:00+2', '']) {
    t.false(momentText.safeParse(text).success, text);
  }
});

test('a range keeps to the years that PostgreSQL reads', (t) => {
  const years = ({ from, to }: { readonly from?: Date; readonly to?: Date }) =>
    [from, to].map((at) => at?.toISOString().slice(0, 10));
  for (const range of [
    rangeOf(given('0000-01-01', '9999-12-31'), nowMs, 30),
    boundsOf(given('0000-01-01', '9999-12-31')),
  ]) {
    t.deepEqual(years(range), ['0001-01-01', '9999-12-31']);
  }
  t.deepEqual(years(rangeOf(given('0001-01-01T00:00+05:00'), nowMs, 30)), ['0001-01-01', '2026-11-24']);
  t.deepEqual(years(rangeOf(given(undefined, '0001-01-05'), nowMs, 30)), ['0001-01-01', '0001-01-06']);
  t.deepEqual(years(boundsOf(given('9999-12-31T23:00-05:00'))), ['9999-12-31', undefined]);
  t.throws(() => boundsOf(given('9999-12-31T23:00Z', '9999-12-31T22:00Z')), { code: 'validation_error' });
});
