import test from 'ava';
import {
  type EventState,
  type Start,
  startOf,
  stateAfter,
} from '../../../src/automation/sources/event-state.js';

interface Row {
  readonly id: string;
  readonly at: string;
  readonly committedAt: string;
}

const msOf = (time: string): number => Date.parse(`2026-05-01T${time}Z`);

/** A table whose rows become visible when they commit, and its polls with up to so many rows each. */
function startTable(all: readonly Row[]) {
  let state: EventState = { floor: null, cursor: null };
  const found = new Set<string>();
  return {
    found,
    poll(time: string, rowsMax = 100): Start {
      const start = startOf(state, msOf(time));
      const { cursor, after } = start.place;
      const [afterId = ''] = after ?? [];
      const visible = all
        .filter(({ committedAt }) => committedAt <= time)
        .filter(({ at, id }) => {
          if (cursor === null || at > cursor) return true;
          return at === cursor && (after === undefined || id > afterId);
        })
        .toSorted((one, other) => `${one.at} ${one.id}`.localeCompare(`${other.at} ${other.id}`));
      const rows = visible.slice(0, rowsMax);
      for (const { id } of rows) found.add(id);
      const read = {
        rows: rows.map(({ id, at }) => ({ id, at })),
        more: visible.length > rowsMax,
        alone: false,
        keys: ['id'],
        known: rows.map(({ id }) => id),
        cursorColumn: 'at',
        born: undefined,
      };
      state = stateAfter(state, start, read, msOf(time));
      return start;
    },
    get state() {
      return state;
    },
  };
}

const early: Row = { id: 'early', at: '10:00:00', committedAt: '10:00:00' };
/** Has the lower cursor and commits after the other. */
const late: Row = { id: 'late', at: '12:00:00', committedAt: '12:00:03' };
const first: Row = { id: 'first', at: '12:00:01', committedAt: '12:00:01' };

test('a row that commits behind the cursor is found although polls pause right after', (t) => {
  const table = startTable([early, late, first]);
  table.poll('11:50:00');
  table.poll('12:00:02');
  t.deepEqual([...table.found], ['early', 'first']);
  table.poll('12:06:00');
  t.deepEqual([...table.found], ['early', 'first', 'late']);
});

test('a row that commits behind an unfinished sweep is found although the sweep pauses', (t) => {
  const more = ['12:00:04', '12:00:05'].map((at) => ({ id: at, at, committedAt: at }));
  const table = startTable([early, { ...late, committedAt: '12:00:15' }, first, ...more]);
  table.poll('11:50:00');
  table.poll('12:00:02');
  t.true(table.poll('12:00:12', 2).sweeps);
  t.not(table.state.sweep, undefined);
  table.poll('12:30:00');
  t.is(table.state.sweep, undefined);
  t.false(table.found.has('late'));
  table.poll('12:31:00');
  t.true(table.found.has('late'));
});

test('polls without a pause read the stretch only, and keep the marks of no longer time', (t) => {
  const table = startTable([early]);
  for (let minute = 0; minute < 60; minute += 1) {
    table.poll(`12:${String(minute).padStart(2, '0')}:00`);
  }
  t.true((table.state.marks ?? []).length <= 8);
  const oldest = table.state.marks?.[0]?.at ?? 0;
  t.true(oldest >= msOf('12:53:00'));
});

test('after a pause longer than rows are remembered, no sweep goes back', (t) => {
  const table = startTable([early, first]);
  table.poll('10:00:01');
  table.poll('10:00:20');
  t.deepEqual(table.poll('23:00:00').place.cursor, early.at);
});
