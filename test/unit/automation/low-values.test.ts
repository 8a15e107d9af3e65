import test from 'ava';
import type { EventState } from '../../../src/automation/sources/event-state.js';
import type { Highest } from '../../../src/automation/sources/database-rows.js';
import { lowAfter, type Looked, mayBeLow } from '../../../src/automation/sources/low-values.js';

test('a maximum that rises below all that polls read is noted, and forgotten when it is no longer below', (t) => {
  let state: EventState = { floor: null, cursor: '1000' };
  const look = (value: string | null, given: Partial<Highest> = {}) => {
    state = { ...state, low: lowAfter(state, { value, isBelowPlace: true, isAboveLow: false, ...given }) };
    return state.low?.missed;
  };
  t.is(look('1000', { isBelowPlace: false }), undefined);
  t.is(state.low, undefined);
  t.is(look('900'), undefined, 'rows were deleted');
  t.is(look('900'), undefined);
  t.is(look('800'), undefined);
  t.is(look(null, { isBelowPlace: false }), undefined, 'all of them');
  t.is(look('3', { isAboveLow: false }), '3', 'nothing compares with an empty table');
  t.is(look('3'), '3');
  t.is(look('4', { isAboveLow: true }), '4');
  t.is(look('1001', { isBelowPlace: false, isAboveLow: true }), undefined);
  t.is(look('900'), undefined);
});

test('the maximum is asked for each five minutes, after a whole sweep that began at a value and found no row', (t) => {
  const nowMs = Date.parse('2026-05-01T12:00:00Z');
  const looked: Looked = { before: {}, start: { place: { cursor: '1000' }, sweeps: true }, rows: [], nowMs };
  const { place } = looked.start;
  t.true(mayBeLow(looked));
  t.false(mayBeLow({ ...looked, rows: [{}] }));
  t.false(mayBeLow({ ...looked, start: { place, sweeps: false } }));
  t.false(mayBeLow({ ...looked, start: { place: { cursor: null }, sweeps: true } }));
  t.true(mayBeLow({ ...looked, before: { compared_ms: nowMs - 300_000 } }));
  t.false(mayBeLow({ ...looked, before: { compared_ms: nowMs - 299_999 } }));
  t.false(mayBeLow({ ...looked, before: { sweep: place } }), 'it goes on where the last poll stopped');
});
