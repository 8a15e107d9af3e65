import { DatabaseError, type DatabaseReader } from '../databases/index.js';
import type { DatabaseEventConfig } from '../triggers/types/database-event.js';
import { cutText } from '../triggers/mapped-context.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  type FoundRow,
  messageColumns,
  placeColumns,
  type PlaceOfRows,
  rowsFrom,
  type RowsWanted,
} from './database-rows.js';

const rowsMax = 500;
/** After rows that are too large together, the limit is divided by this; the last attempt reads one row. */
const fewer = 8;
/** The limit for rows that share one cursor in a table without a primary key. */
const rowsOfCursorMax = 10_000;
/** The values of the cursor that one poll reads at most: one whose rows cannot be read costs a connection. */
const groupsMax = 10;
const shownCharsMax = 100;

/** A table that is opened anew after its connection was closed: by this reader, or by its server. */
export interface ReadableTable {
  readonly open: () => Promise<{ readonly reader: DatabaseReader; readonly keys: readonly string[] }>;
  readonly close: () => void;
}

export interface ReadRows {
  readonly rows: readonly FoundRow[];
  readonly more: boolean;
  /** Whether the rows are so large that they are read one by one. */
  readonly alone: boolean;
  /** Columns of the primary key. */
  readonly keys: readonly string[];
}

/**
 * Reads the rows of a poll. Rows that are too large together for one answer are read in smaller numbers, at last one by
 * one by their primary key, or those of one cursor at a time in a table without one.
 */
export async function readRows(
  table: ReadableTable,
  config: DatabaseEventConfig,
  place: PlaceOfRows,
  messageCharsMax: number,
): Promise<ReadRows> {
  const { keys } = await table.open();
  for (let most = rowsMax; most > 1; most = Math.ceil(most / fewer)) {
    const read = await readSome(table, config, place, { rowsMax: most });
    if (read === undefined) continue;
    // All rows with the cursor itself are read again, so those behind them are not reached.
    const isStuck = read.more && keys.length === 0 && cursorOf(config, read.rows.at(-1)) === place.cursor;
    if (isStuck) break;
    return { ...read, keys, alone: false };
  }
  return keys.length === 0
    ? { ...(await byCursor(table, config, place)), keys, alone: false }
    : { ...(await oneRow(table, config, place, messageCharsMax)), keys, alone: true };
}

type Rows = Pick<ReadRows, 'rows' | 'more'>;

/** Undefined if the rows are too large for one answer. That ends their connection. */
async function readSome(
  table: ReadableTable,
  config: DatabaseEventConfig,
  place: PlaceOfRows,
  wanted: RowsWanted,
): Promise<Rows | undefined> {
  const { reader, keys } = await table.open();
  try {
    return await rowsFrom(reader, config, { ...place, keys }, wanted);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.failure !== 'too_large') throw error;
    table.close();
    return undefined;
  }
}

/** The first row; if it is too large, without the columns that its message does not need. */
async function oneRow(
  table: ReadableTable,
  config: DatabaseEventConfig,
  place: PlaceOfRows,
  messageCharsMax: number,
): Promise<Rows> {
  const { reader, keys } = await table.open();
  const first = await rowsFrom(
    reader,
    config,
    { ...place, keys },
    { rowsMax: 1, columns: placeColumns(config, keys) },
  );
  const { more } = first;
  const whole = await readSome(table, config, place, { rowsMax: 1, alone: true });
  if (whole !== undefined) return { ...whole, more };
  const columns = await messageColumns((await table.open()).reader, config, keys, messageCharsMax);
  const needed = await readSome(table, config, place, { rowsMax: 1, alone: true, columns });
  if (needed !== undefined) return { ...needed, more };
  const rows = first.rows.map(({ row, isNew }) => {
    const fault = `The row ${shown(row)} of ${config.table} is too large to be read. Use fewer or shorter columns in message_template.`;
    return { row, isNew, fault };
  });
  return { rows, more };
}

/**
 * The rows with the cursor of the place, and those with the next one. What cannot be read at once is passed over as soon as
 * there are rows behind it; until then it is an error of the source, so that the owner may still mend it.
 */
async function byCursor(
  table: ReadableTable,
  config: DatabaseEventConfig,
  place: PlaceOfRows,
): Promise<Rows> {
  let rows: readonly FoundRow[] = [];
  let fault: string | undefined;
  let only: 'behind' | undefined;
  let { cursor } = place;
  for (let groups = 0; groups < groupsMax; groups += 1) {
    const [first] = await firstPlace(table, config, { ...place, cursor }, only);
    if (first === undefined) {
      if (fault === undefined) return { rows, more: false };
      throw new PlatformError('validation_error', {
        message: fault,
        details: { field: 'trigger_config.cursor_column', issue: 'has too many rows of one value' },
      });
    }
    cursor = cursorOf(config, first);
    only = 'behind';
    const group = await readSome(
      table,
      config,
      { ...place, cursor },
      { rowsMax: rowsOfCursorMax, only: 'at' },
    );
    if (group === undefined || group.more) {
      fault = faultOf(config, first, group !== undefined);
      rows = [...rows, { ...first, isNew: false, fault }];
      continue;
    }
    fault = undefined;
    rows = [...rows, ...group.rows];
    if (cursor !== place.cursor) break;
  }
  return { rows, more: true };
}

/** The first row of the place, without the columns that may be large. */
async function firstPlace(
  table: ReadableTable,
  config: DatabaseEventConfig,
  place: PlaceOfRows,
  only: 'behind' | undefined,
): Promise<readonly FoundRow[]> {
  const { reader, keys } = await table.open();
  const columns = placeColumns(config, keys);
  const wanted = { rowsMax: 1, alone: true, only, columns };
  return (await rowsFrom(reader, config, { ...place, keys }, wanted)).rows;
}

function faultOf(config: DatabaseEventConfig, { row }: FoundRow, tooMany: boolean): string {
  const { cursor_column: column } = config;
  const what = tooMany
    ? `More than ${rowsOfCursorMax} rows share one value of ${column}`
    : `The rows that share one value of ${column} are too large to be read at once`;
  return `${what}, ${shown(row)}, and the table has no primary key. Choose another cursor_column, or give the table a primary key.`;
}

function shown(row: FoundRow['row']): string {
  return cutText(JSON.stringify(row), shownCharsMax);
}

function cursorOf({ cursor_column }: DatabaseEventConfig, found: FoundRow | undefined): string | null {
  return found?.row[cursor_column] ?? null;
}
