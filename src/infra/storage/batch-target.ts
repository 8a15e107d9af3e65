// What a batching writer writes: how a batch becomes one statement, and what the answer says of each row.
import { type BatchColumnType, columnValue } from './array-text.js';
import { StoreError } from './errors.js';

export type BatchTarget<Row, Outcome> = {
  /** Unique in the program; PostgreSQL keeps the plan under it. */
  readonly name: string;
  /** The same for any number of rows, so that it is planned once. */
  readonly text: string;
  /** About how many bytes a row takes, where rows may be large. */
  bytesOf?(row: Row): number;
  /**
   * Whose row it is: those who wait for the same writer are written in turn, and one may fill half of what may wait.
   * Rows of nobody wait in the order in which they came.
   */
  shareOf?(row: Row): string;
  /** One array for each column. */
  values(rows: readonly Row[]): unknown[];
  /**
   * A cheaper statement for rows of which none needs all that the other does, with the same answer. For a row that goes
   * alone too: to take lists apart costs as much as a row.
   */
  shorter?(
    rows: readonly Row[],
  ): { readonly name: string; readonly text: string; readonly values: unknown[] } | undefined;
  /** For each row, in their order, what became of it; an error rejects that row alone. */
  outcomes(rows: readonly Row[], returned: readonly unknown[]): readonly (Outcome | StoreError)[];
};

export function statementOf<Row, Outcome>(
  target: BatchTarget<Row, Outcome>,
  rows: readonly Row[],
): { readonly name: string; readonly text: string; readonly values: unknown[] } {
  const { name, text } = target;
  return target.shorter?.(rows) ?? { name, text, values: target.values(rows) };
}

/** `present`: it was there already, from an earlier attempt or a repeated request. */
export type InsertOutcome = 'inserted' | 'present';

export type InsertTargetOptions<Row> = {
  readonly table: string;
  readonly columns: { readonly [Column in keyof Row & string]: BatchColumnType };
  /** The primary key, `tenant_id` first. Its values are fixed before the first attempt to write the row. */
  readonly key: readonly (keyof Row & string)[];
  /**
   * Further data-changing parts of the statement, which see the rows that were really inserted as
   * `inserted`, e.g. `insert into rollups … select … from inserted group by … on conflict … do update …`.
   * So a repeated row is never counted twice.
   */
  readonly also?: readonly string[];
  /** About how many bytes a row takes, where rows may be large. */
  readonly bytesOf?: (row: Row) => number;
};

/** Inserts rows that are not there yet. */
export function insertTarget<Row extends object>(
  options: InsertTargetOptions<Row>,
): BatchTarget<Row, InsertOutcome> {
  const { table, columns, key, also = [], bytesOf } = options;
  const parts = [
    `inserted as (${insertText(table, columns)} on conflict (${key.join(', ')}) do nothing returning *)`,
    ...also.map((part, index) => `also_${index} as (${part})`),
  ];
  return {
    name: `batch_${table}`,
    text: `with ${parts.join(',\n')} select ${key.map((name) => `${name}::text`).join(', ')} from inserted`,
    ...(bytesOf === undefined ? {} : { bytesOf }),
    values: (rows) => columnValues(columns, rows),
    outcomes: (rows, returned) => {
      const inserted = new Set(returned.map((row) => keyOf(row, key)));
      // Of rows with one key in one batch, PostgreSQL takes the first.
      return rows.map((row) => (inserted.delete(keyOf(row, key)) ? 'inserted' : 'present'));
    },
  };
}

type Columns = Readonly<Record<string, BatchColumnType>>;

/** To be followed by what is done about rows that are there already. */
export function insertText(table: string, columns: Columns): string {
  const names = Object.keys(columns);
  return `insert into ${table} (${names.join(', ')}) select * from ${unnestText(columns)}`;
}

/** The relation of a batch, whose parameters are those of `columnValues` after `before` others. */
export function unnestText(columns: Columns, before = 0): string {
  return `unnest(${Object.values(columns)
    .map((type, index) => `$${before + index + 1}::${type}[]`)
    .join(', ')})`;
}

/** One parameter for each column. */
export function columnValues(columns: Columns, rows: readonly object[]): unknown[] {
  return Object.entries(columns).map(([name, type]) => columnValue(type, name, rows));
}

function keyOf(row: unknown, key: readonly string[]): string {
  if (typeof row !== 'object' || row === null) throw new StoreError('unexpected-row', 'A row is an object');
  return JSON.stringify(key.map((name) => comparable(Reflect.get(row, name))));
}

/** As PostgreSQL writes it: a UUID in lower case, numbers as text. */
function comparable(value: unknown): string {
  if (typeof value === 'string') return value.toLowerCase();
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  throw new StoreError('defect', 'The key of a batched row is made of texts and numbers');
}
