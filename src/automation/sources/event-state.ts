import { z } from 'zod';
import type { TextRow } from '../databases/index.js';

/** A row with a lower cursor may commit after one with a higher, so every sweep reads this far back. */
const stretchMs = 5 * 60_000;
const sweepEveryMs = 10_000;
/** Read rows are remembered for this much longer; after a longer pause no sweep may go back to them. */
const pauseMostMs = 12 * 3_600_000;
/** The bound of remembered rows with the cursor itself, which are read again while nothing new arrives. */
const lastMax = 1_000;
/** The same where polls go on after a key: only sweeps read these rows again. */
const lastOfKeyMax = 100;

const placeShape = z.object({
  cursor: z.string().nullable(),
  /** Rows with this cursor have been read up to this key; undefined: they are all read again. */
  after: z.array(z.string()).optional(),
});

/** How far a table has been read, in the order of the cursor and then of the primary key. */
export type Place = z.output<typeof placeShape>;

export const eventState = z.object({
  /** The settings that were polled for; other settings start anew. */
  about: z.string().optional(),
  /** The trigger's revision when it was armed last. */
  revision: z.number().optional(),
  /** The maximum when the trigger started; rows at or below it are not events. Null: the table was empty. */
  floor: z.string().nullable().optional(),
  cursor: z.string().nullable().optional(),
  after: z.array(z.string()).optional(),
  /** The keys of the rows with this cursor, kept while the cursor stays: a table may be quiet for years. */
  last: z.array(z.string()).optional(),
  /** Those of a cursor that was left, while a sweep may still begin there: their records may have expired. */
  passed: z.object({ cursor: z.string(), keys: z.array(z.string()) }).optional(),
  /** Where an unfinished sweep continues. */
  sweep: placeShape.optional(),
  /** When the unfinished sweep began. */
  sweep_ms: z.number().optional(),
  /** Earlier positions of the cursor, starting with the oldest that is still needed. */
  marks: z
    .array(
      z.object({ at: z.number(), cursor: z.string().nullable(), born: z.string().nullable().optional() }),
    )
    .optional(),
  swept_ms: z.number().optional(),
  /** When the last finished sweep began: rows that have committed since may be behind the cursor. */
  swept_from_ms: z.number().optional(),
  /** If new and changed rows are told apart: the maximum of the birth column when all rows had last been read. */
  born: z.string().nullable().optional(),
  /** The same when the trigger started. */
  born_floor: z.string().nullable().optional(),
  /** The birth column. The values of another one cannot be compared. */
  born_column: z.string().optional(),
  /** The table's maximum while it is below all that polls read; null: the table is empty. */
  low: z
    .object({
      highest: z.string().nullable(),
      /** Rows were added up to this value, below all that polls read. */
      missed: z.string().optional(),
    })
    .optional(),
  /** When the maximum was compared last. */
  compared_ms: z.number().optional(),
});
export type EventState = z.output<typeof eventState>;

/** Where a poll starts reading. */
export interface Start {
  readonly place: Place;
  readonly sweeps: boolean;
}

/** Regularly behind the cursor, until that sweep has reached the end of the table; otherwise from the cursor. */
export function startOf(state: EventState, nowMs: number): Start {
  if (state.sweep !== undefined) return { place: state.sweep, sweeps: true };
  if (nowMs - (state.swept_ms ?? 0) >= sweepEveryMs) {
    // Not from now: after a pause of the polls, rows that committed during it would be skipped.
    const sinceMs = Math.min(nowMs, state.swept_from_ms ?? state.swept_ms ?? nowMs);
    const behind = behindStretch(state, sinceMs);
    const isQuiet = behind === (state.cursor ?? null);
    const paused = nowMs - sinceMs > pauseMostMs;
    return { place: isQuiet || paused ? placeOf(state) : { cursor: behind }, sweeps: true };
  }
  return { place: placeOf(state), sweeps: false };
}

/** Rows up to this value of the birth column are not new: their inserts have been read, or commit later than any sweep. */
export function bornLongAgo(state: EventState, nowMs: number): string | null | undefined {
  const { marks = [], born_floor: floor } = state;
  const sinceMs = Math.min(nowMs, state.swept_from_ms ?? nowMs);
  const old = marks.findLast(({ at }) => at <= sinceMs - stretchMs);
  return old?.born ?? floor;
}

/** The state for another birth column, whose maximum is `born`. */
export function withBirth(
  state: EventState,
  column: string | undefined,
  born: EventState['born'],
): EventState {
  const marks = state.marks?.map(({ at, cursor }) => ({ at, cursor }));
  return { ...state, marks, born, born_floor: undefined, born_column: column };
}

function placeOf({ cursor = null, after }: EventState): Place {
  return { cursor, after };
}

export interface Read {
  readonly rows: readonly TextRow[];
  readonly more: boolean;
  /** Whether rows are so large that they are read one by one; the next poll must not read the last one again. */
  readonly alone: boolean;
  /** Columns of the primary key. */
  readonly keys: readonly string[];
  /** The key of each row. */
  readonly known: readonly string[];
  readonly cursorColumn: string;
  readonly born: string | null | undefined;
}

/** The state after a poll. A sweep never moves the cursor back, or rows that arrive meanwhile would be read forever. */
export function stateAfter(
  state: EventState,
  { place, sweeps }: Start,
  read: Read,
  nowMs: number,
): EventState {
  const end = endOf(place, read);
  const { sweep: _, sweep_ms: startedMs, ...rest } = state;
  const beganMs = startedMs ?? nowMs;
  if (sweeps && read.more) return { ...state, sweep: end, sweep_ms: beganMs };
  const moved =
    read.rows.length === 0 ? {} : { cursor: end.cursor, after: end.after, last: lastOf(state, end, read) };
  const after = { ...rest, ...moved, ...(read.more ? {} : { born: read.born }) };
  const passed = passedBy(state, after);
  if (!sweeps) return { ...after, passed };
  return {
    ...after,
    passed,
    marks: marksWith(after, nowMs, beganMs),
    swept_ms: nowMs,
    swept_from_ms: beganMs,
  };
}

function passedBy(before: EventState, after: EventState): EventState['passed'] {
  const { passed, cursor, last, marks = [] } = before;
  if (marks.some((mark) => mark.cursor === passed?.cursor)) return passed;
  const isLeft = typeof cursor === 'string' && cursor !== after.cursor && last !== undefined;
  return isLeft ? { cursor, keys: last } : undefined;
}

/** With very many rows of one cursor, the next poll starts after those read; a few are simply read again. */
function endOf(place: Place, { rows, more, alone, keys, cursorColumn }: Read): Place {
  const last = rows.at(-1);
  if (last === undefined) return place;
  const cursor = last[cursorColumn] ?? null;
  const continues = more || alone || (place.after !== undefined && place.cursor === cursor);
  return continues && keys.length > 0 ? { cursor, after: keys.map((name) => last[name] ?? '') } : { cursor };
}

function lastOf(
  before: EventState,
  { cursor, after }: Place,
  { rows, known, cursorColumn }: Read,
): EventState['last'] {
  const read = known.filter((_, index) => rows[index]?.[cursorColumn] === cursor);
  if (after === undefined) return read.slice(-lastMax);
  const all = new Set([...(before.cursor === cursor ? (before.last ?? []) : []), ...read]);
  return all.size > lastOfKeyMax ? undefined : [...all];
}

/** The cursor before the stretch began that ends at `sinceMs`; for a younger trigger, the floor. */
function behindStretch({ marks = [], floor = null }: EventState, sinceMs: number): string | null {
  const old = marks.findLast(({ at }) => at <= sinceMs - stretchMs);
  return old === undefined ? floor : old.cursor;
}

/** Keeps the newest mark that is older than the stretch of the next sweep, and all later marks. */
function marksWith(
  { marks = [], cursor = null, born }: EventState,
  nowMs: number,
  beganMs: number,
): EventState['marks'] {
  const all = [...marks, { at: nowMs, cursor, born }];
  const old = all.findLastIndex(({ at }) => at <= beganMs - stretchMs);
  return all.slice(Math.max(0, old));
}
