import { z } from 'zod';
import type { TextRow } from '../databases/index.js';

/** A row with a lower cursor may be committed later than one with a higher: so far back every sweep looks again. */
const stretchMs = 5 * 60_000;
const sweepEveryMs = 10_000;
/** What was read is remembered for longer by so much; after a longer pause no sweep may go back to it. */
const pauseMostMs = 12 * 3_600_000;
/** Of rows with the cursor itself, which are read again and again while nothing comes. */
const lastMax = 1_000;

const placeShape = z.object({
  cursor: z.string().nullable(),
  /** Of the rows with this cursor, those up to this key have been read; undefined: they are all read again. */
  after: z.array(z.string()).optional(),
});

/** How far a table has been read, in the order of the cursor and then of the primary key. */
export type Place = z.output<typeof placeShape>;

export const eventState = z.object({
  /** What the table is looked at for; other settings begin anew. */
  about: z.string().optional(),
  /** The highest when the trigger began; what lies at it or below is no news. Null: the table was empty. */
  floor: z.string().nullable().optional(),
  cursor: z.string().nullable().optional(),
  after: z.array(z.string()).optional(),
  /** By what the rows with this cursor are known, for as long as it stays: a table may be quiet for years. */
  last: z.array(z.string()).optional(),
  /** Where a sweep goes on that is longer than one look. */
  sweep: placeShape.optional(),
  /** Where the cursor stood at earlier times, the oldest one still needed first. */
  marks: z.array(z.object({ at: z.number(), cursor: z.string().nullable() })).optional(),
  swept_ms: z.number().optional(),
  /** Where new rows are left out: the highest value by which they are known, when all had been read the last time. */
  born: z.string().nullable().optional(),
});
export type EventState = z.output<typeof eventState>;

/** From where a look reads. */
export interface Start {
  readonly place: Place;
  readonly sweeps: boolean;
}

/** Behind the cursor every now and then, and until such a sweep has come to the end of the table; else from the cursor on. */
export function startOf(state: EventState, nowMs: number): Start {
  if (state.sweep !== undefined) return { place: state.sweep, sweeps: true };
  if (nowMs - (state.swept_ms ?? 0) >= sweepEveryMs) {
    const behind = behindStretch(state, nowMs);
    const isQuiet = behind === (state.cursor ?? null);
    const paused = state.swept_ms !== undefined && nowMs - state.swept_ms > pauseMostMs;
    return { place: isQuiet || paused ? placeOf(state) : { cursor: behind }, sweeps: true };
  }
  return { place: placeOf(state), sweeps: false };
}

function placeOf({ cursor = null, after }: EventState): Place {
  return { cursor, after };
}

export interface Read {
  readonly rows: readonly TextRow[];
  readonly more: boolean;
  /** Columns of the primary key. */
  readonly keys: readonly string[];
  /** By what each of the rows is known. */
  readonly known: readonly string[];
  readonly cursorColumn: string;
  readonly born: string | null | undefined;
}

/** What is known after a look. A sweep never takes the cursor back: what comes meanwhile would be read for ever. */
export function stateAfter(
  state: EventState,
  { place, sweeps }: Start,
  read: Read,
  nowMs: number,
): EventState {
  const end = endOf(place, read);
  const { sweep: _, ...rest } = state;
  if (sweeps && read.more) return { ...state, sweep: end };
  const moved =
    read.rows.length === 0 ? {} : { cursor: end.cursor, after: end.after, last: lastOf(end, read) };
  const after = { ...rest, ...moved, ...(read.more ? {} : { born: read.born }) };
  return sweeps ? { ...after, marks: marksWith(after, nowMs), swept_ms: nowMs } : after;
}

/** Among very many rows with one cursor a look begins behind those that were read; few are simply read again. */
function endOf(place: Place, { rows, more, keys, cursorColumn }: Read): Place {
  const last = rows.at(-1);
  if (last === undefined) return place;
  const cursor = last[cursorColumn] ?? null;
  const goesOn = more || (place.after !== undefined && place.cursor === cursor);
  return goesOn && keys.length > 0 ? { cursor, after: keys.map((name) => last[name] ?? '') } : { cursor };
}

function lastOf({ cursor, after }: Place, { rows, known, cursorColumn }: Read): EventState['last'] {
  if (after !== undefined) return undefined;
  return known.filter((_, index) => rows[index]?.[cursorColumn] === cursor).slice(-lastMax);
}

/** Where the cursor stood before the stretch began; until the trigger is that old, all since its beginning. */
function behindStretch({ marks = [], floor = null }: EventState, nowMs: number): string | null {
  const old = marks.findLast(({ at }) => at <= nowMs - stretchMs);
  return old === undefined ? floor : old.cursor;
}

/** Of the marks, the newest that is older than the stretch, and all after it. */
function marksWith({ marks = [], cursor = null }: EventState, nowMs: number): EventState['marks'] {
  const all = [...marks, { at: nowMs, cursor }];
  const old = all.findLastIndex(({ at }) => at <= nowMs - stretchMs);
  return all.slice(Math.max(0, old));
}
