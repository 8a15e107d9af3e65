import { DatabaseError } from '../databases/index.js';
import { cutText } from '../triggers/mapped-context.js';
import type { DatabaseEventConfig } from '../triggers/types/database-event.js';
import { compareHighest, type Highest } from './database-rows.js';
import type { EventState, Start } from './event-state.js';
import type { ReadableTable } from './row-reader.js';

// A table that was emptied and counts anew, or restored from an older copy: its new rows are below those that have been
// read, and no poll reads them. Decision 0290 says why they are reported only.

const shownCharsMax = 60;

/** One index look-up where the column has an index of its own, and otherwise a scan of the tenant's table. */
const compareEveryMs = 5 * 60_000;

export interface Looked {
  readonly before: EventState;
  readonly start: Start;
  readonly rows: readonly unknown[];
  readonly nowMs: number;
}

/** What the state after a poll says of it. */
export async function lowOf(
  table: ReadableTable,
  config: DatabaseEventConfig,
  looked: Looked,
): Promise<Pick<EventState, 'low' | 'compared_ms'>> {
  const { before, start, rows, nowMs } = looked;
  const { low, compared_ms } = before;
  // A row that was read is not below what polls read.
  if (rows.length > 0) return { low: undefined, compared_ms };
  if (!mayBeLow(looked)) return { low, compared_ms };
  const { reader } = await table.open();
  try {
    const highest = await compareHighest(reader, config, start.place.cursor, low?.highest ?? null);
    return { low: lowAfter(before, highest), compared_ms: nowMs };
  } catch (error) {
    // The rows were read well; in a table without that index the comparison may take too long.
    if (!(error instanceof DatabaseError)) throw error;
    return { low, compared_ms: nowMs };
  }
}

/** What the owner must mend. */
export function faultOf(
  { table, cursor_column: column }: DatabaseEventConfig,
  { low, cursor }: EventState,
): string | undefined {
  if (low?.missed === undefined) return undefined;
  const [missed, read] = [low.missed, cursor ?? ''].map((text) => cutText(text, shownCharsMax));
  return (
    `Rows of ${table} were added whose ${column} is at most ${missed}, but rows up to ${read} have been read before, so ` +
    `they start nothing. Was the table emptied or restored? Let ${column} go on above ${read}, or make a new trigger.`
  );
}

/** Whether it is time to ask, and a whole sweep that found no row leaves open where the table's maximum is. */
export function mayBeLow({ before, start: { place, sweeps }, rows, nowMs }: Looked): boolean {
  if (nowMs - (before.compared_ms ?? 0) < compareEveryMs) return false;
  return sweeps && before.sweep === undefined && place.cursor !== null && rows.length === 0;
}

/**
 * A maximum below the place alone says nothing: a table whose rows are deleted once they are worked off is mostly empty. But
 * if it rises there, rows were added that no poll reads: the table was emptied and counts anew, or is an older copy.
 */
export function lowAfter(
  { low }: EventState,
  { value, isBelowPlace, isAboveLow }: Highest,
): EventState['low'] {
  if (value !== null && !isBelowPlace) return undefined;
  const hasRisen = low !== undefined && value !== null && (low.highest === null || isAboveLow);
  return { highest: value, missed: hasRisen ? value : low?.missed };
}
