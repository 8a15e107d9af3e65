// The target of a batch writer: builds one statement per batch and reads each row's outcome from the result.
import { type BatchColumnType, columnValue } from './array-text.js';
import { StoreError } from './errors.js';

export type BatchTarget<Row, Outcome> = {
  /** Unique in the program: the name of the prepared statement in PostgreSQL. */
  readonly name: string;
  /** The same text for any number of rows, so that it is planned once. */
  readonly text: string;
  /** The approximate size of a row in bytes, for targets with large rows. */
  bytesOf?(row: Row): number;
  /**
   * The owner of a row: owners that wait for the same writer take turns, and one may fill at most half of the queue.
   * Rows without an owner are written in the order of arrival.
   */
  shareOf?(row: Row): string;
  /** One array per column. */
  values(rows: readonly Row[]): unknown[];
  /**
   * A cheaper statement with the same result, for rows that do not need the full one. Also used for single rows:
   * unnesting the arrays costs as much as a row.
   */
  shorter?(
    rows: readonly Row[],
  ): { readonly name: string; readonly text: string; readonly values: unknown[] } | undefined;
  /** The outcome of each row, in their order; an error rejects only that row. */
  outcomes(rows: readonly Row[], returned: readonly unknown[]): readonly (Outcome | StoreError)[];
};

export function statementOf<Row, Outcome>(
  target: BatchTarget<Row, Outcome>,
  rows: readonly Row[],
): { readonly name: string; readonly text: string; readonly values: unknown[] } {
  const { name, text } = target;
  return target.shorter?.(rows) ?? { name, text, values: target.values(rows) };
}

/** `present`: an earlier attempt or a repeated request had already inserted the row. */
export type InsertOutcome = 'inserted' | 'present';

export type InsertTargetOptions<Row> = {
  readonly table: string;
  readonly columns: { readonly [Column in keyof Row & string]: BatchColumnType };
  /** The primary key, `tenant_id` first. Its values are fixed before the first attempt to write the row. */
  readonly key: readonly (keyof Row & string)[];
  /**
   * Further data-changing parts of the statement, which see only the rows actually inserted as
   * `inserted`, e.g. `insert into rollups … select … from inserted group by … on conflict … do update …`.
   * So a repeated row is never counted twice.
   */
  readonly also?: readonly string[];
  /** The approximate size of a row in bytes, for targets with large rows. */
  readonly bytesOf?: (row: Row) => number;
};

/** Inserts rows that are absent. */
export function insertTarget<Row extends object>(
  options: InsertTargetOptions<Row>,
): BatchTarget<Row, InsertOutcome> {
  const { table, columns, key, also = [], bytesOf } = options;
  const valuesOf = columnReader(columns);
  const parts = [
    `inserted as (${insertText(table, columns)} on conflict (${key.join(', ')}) do nothing returning *)`,
    ...also.map((part, index) => `also_${index} as (${part})`),
  ];
  return {
    name: `batch_${table}`,
    text: `with ${parts.join(',\n')} select ${key.map((name) => `${name}::text`).join(', ')} from inserted`,
    ...(bytesOf === undefined ? {} : { bytesOf }),
    values: valuesOf,
    outcomes: (rows, returned) => {
      const inserted = new Set(returned.map((row) => keyOf(row, key)));
      // If several rows of a batch have the same key, PostgreSQL inserts the first.
      return rows.map((row) => (inserted.delete(keyOf(row, key)) ? 'inserted' : 'present'));
    },
  };
}

type Columns = Readonly<Record<string, BatchColumnType>>;

/** The caller appends the `on conflict` clause. */
export function insertText(table: string, columns: Columns): string {
  const names = Object.keys(columns);
  return `insert into ${table} (${names.join(', ')}) select * from ${unnestText(columns)}`;
}

/** The relation of a batch. Its parameters are those of `columnReader`, numbered after `before` others. */
export function unnestText(columns: Columns, before = 0): string {
  return `unnest(${Object.values(columns)
    .map((type, index) => `$${before + index + 1}::${type}[]`)
    .join(', ')})`;
}

/** One parameter per column. Made once for a target: listing forty columns for each batch took a fiftieth of a call. */
export function columnReader(columns: Columns): (rows: readonly object[]) => unknown[] {
  const entries = Object.entries(columns);
  return (rows) => entries.map(([name, type]) => columnValue(type, name, rows));
}

function keyOf(row: unknown, key: readonly string[]): string {
  if (typeof row !== 'object' || row === null)
    throw new StoreError('unexpected-row', 'A row must be an object');
  return JSON.stringify(key.map((name) => comparable(Reflect.get(row, name))));
}

/** Normalised like PostgreSQL's output: a UUID in lower case, numbers as text. */
function comparable(value: unknown): string {
  if (typeof value === 'string') return value.toLowerCase();
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  throw new StoreError('defect', 'The key of a batched row must consist of texts and numbers');
}
