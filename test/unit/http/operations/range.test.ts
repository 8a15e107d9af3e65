import test from 'ava';
import { momentText } from '../../../../src/http/operations/index.js';

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
