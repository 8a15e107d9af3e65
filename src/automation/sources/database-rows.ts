import { createHash } from 'node:crypto';
import pg from 'pg';
import {
  type DatabaseReader,
  quoted,
  type TableName,
  tableNameOf,
  type TextRow,
} from '../databases/index.js';
import { invalidField } from '../../kernel/errors.js';
import type { DatabaseEventConfig } from '../triggers/config/source-configs.js';
import type { Place } from './event-state.js';

/** The statements of a look at a tenant's table. Names are quoted, values are parameters. */

export function tableOf({ table }: Pick<DatabaseEventConfig, 'table'>): TableName {
  const name = tableNameOf(table.includes('.') ? table : `public.${table}`);
  if (name === undefined) throw invalidField('trigger_config.table', 'is not the name of a table');
  return name;
}

/** The highest value of the column just now, as PostgreSQL writes it; null for an empty table. */
export async function highestOf(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  name: string,
): Promise<string | null> {
  const column = pg.escapeIdentifier(name);
  const { rows } = await reader.select(
    `select max(${column})::text as highest from ${quoted(tableOf(config))}`,
    [],
    { rowsMax: 1 },
  );
  return rows[0]?.['highest'] ?? null;
}

/** By which columns a row is known; empty for a table without a primary key. */
export async function keyColumns(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
): Promise<readonly string[]> {
  const { schema, name } = tableOf(config);
  const { rows } = await reader.select(
    `select a.attname::text as name from pg_index i
       join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
     where i.indisprimary and n.nspname = $1 and c.relname = $2 order by a.attnum`,
    [schema, name],
    { rowsMax: 32 },
  );
  return rows.map((row) => row['name'] ?? '').filter((column) => column !== '');
}

const wholeNumbers: ReadonlySet<string> = new Set(['smallint', 'integer', 'bigint']);

/**
 * The column whose values rise from new row to new row: for triggers that wait for changes alone, to leave new rows out.
 * Undefined where there is none, and where new rows are wanted too.
 */
export async function birthColumn(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  keys: readonly string[],
): Promise<string | undefined> {
  if (config.events.includes('insert')) return undefined;
  if (config.created_column !== undefined) return config.created_column;
  const [key, another] = keys;
  if (key === undefined || another !== undefined) return undefined;
  const { schema, name } = tableOf(config);
  const { rows } = await reader.select(
    `select format_type(a.atttypid, null) as type from pg_attribute a
       join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = $2 and a.attname = $3`,
    [schema, name, key],
    { rowsMax: 1 },
  );
  return wholeNumbers.has(rows[0]?.['type'] ?? '') ? key : undefined;
}

export interface FoundRow {
  readonly row: TextRow;
  /** Inserted since the look before, where that is asked. */
  readonly isNew: boolean;
}

export interface Births {
  readonly column: string;
  /** The highest at the look before; null for a table that was empty then. */
  readonly before: string | null;
}

const mark = 'troupe inserted';

export interface PlaceOfRows extends Place {
  readonly floor: string | null;
  readonly births?: Births | undefined;
}

/**
 * Rows above the floor, from the cursor on, in the cursor's order. Of equal cursors all are read, also those seen before,
 * unless the place says behind which key to go on.
 */
export async function rowsFrom(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  { floor, cursor, after, births, keys }: PlaceOfRows & { readonly keys: readonly string[] },
  rowsMax: number,
): Promise<{ readonly rows: readonly FoundRow[]; readonly more: boolean }> {
  const column = `t.${pg.escapeIdentifier(config.cursor_column)}`;
  const names = keys.map((name) => `t.${pg.escapeIdentifier(name)}`);
  const values: (string | null)[] = [];
  const parameter = (value: string): string => `$${values.push(value)}`;
  const from = cursor === null ? undefined : parameter(cursor);
  const conditions = [
    `${column} is not null`,
    ...(floor === null ? [] : [`${column} > ${parameter(floor)}`]),
    ...(from === undefined ? [] : [`${column} >= ${from}`]),
    // Keys that were others when the place was noted cannot be compared.
    ...(from === undefined || after === undefined || names.length === 0 || after.length !== names.length
      ? []
      : [`(${column} > ${from} or (${names.join(', ')}) > (${after.map(parameter).join(', ')}))`]),
    ...Object.entries(config.filter ?? {}).map(([name, value]) =>
      value === null
        ? `t.${pg.escapeIdentifier(name)} is null`
        : `t.${pg.escapeIdentifier(name)} = ${parameter(String(value))}`,
    ),
  ];
  const order = [...new Set([column, ...names])].join(', ');
  const inserted =
    births === undefined
      ? ''
      : births.before === null
        ? `, true as ${pg.escapeIdentifier(mark)}`
        : `, t.${pg.escapeIdentifier(births.column)} > ${parameter(births.before)} as ${pg.escapeIdentifier(mark)}`;
  const selected = await reader.select(
    `select t.*${inserted} from ${quoted(tableOf(config))} t where ${conditions.join(' and ')} order by ${order}`,
    values,
    { rowsMax },
  );
  const rows = selected.rows.map(({ [mark]: isNew, ...row }) => ({
    row,
    isNew: isNew?.startsWith('t') === true,
  }));
  return { rows, more: selected.more };
}

/**
 * By what a row is known when it is read again. A new row by its primary key; a change by the key and the cursor, which
 * rises with it. A table without a primary key has only its content.
 */
export function keyOfRow(
  row: TextRow,
  columns: readonly string[],
  { events, cursor_column }: DatabaseEventConfig,
): string {
  const identity =
    columns.length === 0
      ? row
      : Object.fromEntries(
          [...columns, ...(events.includes('update') ? [cursor_column] : [])].map((name) => [
            name,
            row[name],
          ]),
        );
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('base64url');
  return `row:${digest}`;
}

/** By what it is known that a row was seen when it was new, whatever changes in it. */
export function birthOf(row: TextRow, columns: readonly string[], config: DatabaseEventConfig): string {
  return `born:${keyOfRow(row, columns, { ...config, events: ['insert'] })}`;
}
