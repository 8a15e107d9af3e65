// What a batching writer writes: how a batch becomes one statement, and what the answer says of each row.
import { StoreError } from './errors.js';

export type BatchTarget<Row, Outcome> = {
  /** Unique in the program; PostgreSQL keeps the plan under it. */
  readonly name: string;
  /** The same for any number of rows, so that it is planned once. */
  readonly text: string;
  /** About how many bytes a row takes, where rows may be large. */
  bytesOf?(row: Row): number;
  /** One array for each column. */
  values(rows: readonly Row[]): unknown[];
  /** For each row, in their order, what became of it; an error rejects that row alone. */
  outcomes(rows: readonly Row[], returned: readonly unknown[]): readonly (Outcome | StoreError)[];
};

/** `present`: it was there already, from an earlier attempt or a repeated request. */
export type InsertOutcome = 'inserted' | 'present';

/** Types that a batched column may have. Lists go into `jsonb`: unnest would take them apart. */
export type BatchColumnType =
  | 'uuid'
  | 'text'
  | 'int4'
  | 'int8'
  | 'float8'
  | 'numeric'
  | 'bool'
  | 'timestamptz'
  | 'date'
  | 'bytea'
  | 'jsonb';

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
  const names = Object.keys(columns);
  const types = new Map<string, BatchColumnType>(Object.entries(columns));
  const parameters = names.map((name, index) => `$${index + 1}::${types.get(name)}[]`);
  const parts = [
    `inserted as (insert into ${table} (${names.join(', ')}) select * from unnest(${parameters.join(', ')})
      on conflict (${key.join(', ')}) do nothing returning *)`,
    ...also.map((part, index) => `also_${index} as (${part})`),
  ];
  return {
    name: `batch_${table}`,
    text: `with ${parts.join(',\n')} select ${key.map((name) => `${name}::text`).join(', ')} from inserted`,
    ...(bytesOf === undefined ? {} : { bytesOf }),
    values: (rows) =>
      names.map((name) => {
        const isJson = types.get(name) === 'jsonb';
        return rows.map((row) => {
          const value: unknown = Reflect.get(row, name);
          return isJson && value !== null && value !== undefined ? JSON.stringify(value) : value;
        });
      }),
    outcomes: (rows, returned) => {
      const inserted = new Set(returned.map((row) => keyOf(row, key)));
      // Of rows with one key in one batch, PostgreSQL takes the first.
      return rows.map((row) => (inserted.delete(keyOf(row, key)) ? 'inserted' : 'present'));
    },
  };
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
