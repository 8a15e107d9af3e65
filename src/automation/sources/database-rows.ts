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
import type { DatabaseEventConfig } from '../triggers/types/database-event.js';
import { namesIn } from '../triggers/templates.js';
import type { Place } from './event-state.js';

/** The SQL statements of a poll of a tenant's table. Names are quoted; values are parameters. */

export function tableOf({ table }: Pick<DatabaseEventConfig, 'table'>): TableName {
  const name = tableNameOf(table.includes('.') ? table : `public.${table}`);
  if (name === undefined) throw invalidField('trigger_config.table', 'is not the name of a table');
  return name;
}

/** The column's current maximum as PostgreSQL text; null for an empty table. */
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

/** The table's maximum beside the place where a sweep begins and beside the maximum that was noted before. */
export interface Highest {
  readonly value: string | null;
  readonly isBelowPlace: boolean;
  readonly isAboveLow: boolean;
}

/** Compares the maximum of the cursor column; the order is the one of the column's type. */
export async function compareHighest(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  place: string | null,
  low: string | null,
): Promise<Highest> {
  const highest = `max(${pg.escapeIdentifier(config.cursor_column)})`;
  const { rows } = await reader.select(
    `select ${highest}::text as value, ${highest} < $1 as below_place, ${highest} > $2 as above_low
      from ${quoted(tableOf(config))}`,
    [place, low],
    { rowsMax: 1 },
  );
  const is = (name: string): boolean => rows[0]?.[name]?.startsWith('t') === true;
  return { value: rows[0]?.['value'] ?? null, isBelowPlace: is('below_place'), isAboveLow: is('above_low') };
}

/** The primary key columns; empty for a table without a primary key. */
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
 * The column that increases with each new row, used by triggers for updates only to skip new rows, and by triggers for
 * inserts only to skip changed ones. Undefined if there is none, and if both are wanted.
 */
export async function birthColumn(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  keys: readonly string[],
): Promise<string | undefined> {
  if (config.events.includes('insert') && config.events.includes('update')) return undefined;
  // The key is not taken for inserts: where its values do not increase, new rows would be skipped.
  if (config.created_column !== undefined || config.events.includes('insert')) return config.created_column;
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
  /** Whether the row was inserted since the previous poll, if that was queried. */
  readonly isNew: boolean;
  /** Why the row, or all rows with its cursor, cannot be read; `row` then has the columns of its place only. */
  readonly fault?: string;
}

export interface Births {
  readonly column: string;
  /** Rows beyond this value are new; null: all are. */
  readonly before: string | null;
  /** Whether only new rows are read. Otherwise they are marked as such. */
  readonly only: boolean;
}

const mark = 'troupe inserted';
const comparisons = { at: '=', behind: '>' };

export interface PlaceOfRows extends Place {
  readonly floor: string | null;
  readonly births?: Births | undefined;
}

export interface RowsWanted {
  readonly rowsMax: number;
  /** Reads exactly one row, so that a second one adds no bytes. */
  readonly alone?: boolean;
  /** The rows with the cursor of the place, or only those behind it. */
  readonly only?: 'at' | 'behind' | undefined;
  /** The expressions to select instead of all columns. */
  readonly columns?: readonly string[] | undefined;
}

/**
 * Rows above the floor, from the cursor on, in cursor order. All rows with the cursor itself are read again, unless the
 * place names the key to continue after.
 */
export async function rowsFrom(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  { floor, cursor, after, births, keys }: PlaceOfRows & { readonly keys: readonly string[] },
  { rowsMax, alone = false, only, columns }: RowsWanted,
): Promise<{ readonly rows: readonly FoundRow[]; readonly more: boolean }> {
  const column = `t.${pg.escapeIdentifier(config.cursor_column)}`;
  const names = keys.map((name) => `t.${pg.escapeIdentifier(name)}`);
  const values: (string | null)[] = [];
  const parameter = (value: string): string => `$${values.push(value)}`;
  const from = cursor === null ? undefined : parameter(cursor);
  const conditions = [
    `${column} is not null`,
    ...(floor === null ? [] : [`${column} > ${parameter(floor)}`]),
    ...(from === undefined ? [] : [`${column} ${only === undefined ? '>=' : comparisons[only]} ${from}`]),
    // If the primary key has changed since the place was saved, its values cannot be compared.
    ...(from === undefined || after === undefined || names.length === 0 || after.length !== names.length
      ? []
      : [`(${column} > ${from} or (${names.join(', ')}) > (${after.map(parameter).join(', ')}))`]),
    ...(births?.only === true && births.before !== null
      ? [`coalesce(t.${pg.escapeIdentifier(births.column)} > ${parameter(births.before)}, true)`]
      : []),
    ...Object.entries(config.filter ?? {}).map(([name, value]) =>
      value === null
        ? `t.${pg.escapeIdentifier(name)} is null`
        : `t.${pg.escapeIdentifier(name)} = ${parameter(String(value))}`,
    ),
  ];
  const order = [...new Set([column, ...names])].join(', ');
  const inserted =
    births === undefined || births.only
      ? ''
      : births.before === null
        ? `, true as ${pg.escapeIdentifier(mark)}`
        : `, t.${pg.escapeIdentifier(births.column)} > ${parameter(births.before)} as ${pg.escapeIdentifier(mark)}`;
  const selected = await reader.select(
    `select ${columns?.join(', ') ?? 't.*'}${inserted} from ${quoted(tableOf(config))} t
      where ${conditions.join(' and ')} order by ${order}${alone ? ' limit 1' : ''}`,
    values,
    { rowsMax },
  );
  const rows = selected.rows.map(({ [mark]: isNew, ...row }) => ({
    row,
    isNew: isNew?.startsWith('t') === true,
  }));
  return { rows, more: selected.more };
}

/** The columns that say where a row is: its cursor and its primary key. */
export function placeColumns(config: DatabaseEventConfig, keys: readonly string[]): readonly string[] {
  return [...new Set([config.cursor_column, ...keys])].map((name) => `t.${pg.escapeIdentifier(name)}`);
}

/** The columns of the place and those that the message names, each cut to what a message can hold. */
export async function messageColumns(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  keys: readonly string[],
  charsMax: number,
): Promise<readonly string[]> {
  const named = namesIn(config.message_template);
  const { columns } = await reader.select(`select * from ${quoted(tableOf(config))} where false`, [], {
    rowsMax: 1,
  });
  const cut = columns
    .filter((name) => named.has(name) && name !== config.cursor_column && !keys.includes(name))
    .map((name) => pg.escapeIdentifier(name))
    // Formatted, not cast: a cast to text spells some types differently.
    .map((name) => `left(format('%s', t.${name}), ${charsMax}) as ${name}`);
  return [...placeColumns(config, keys), ...cut];
}

/**
 * The key that identifies a row when it is read again: the primary key for a new row, the primary key and the cursor
 * for a change. A table without a primary key uses the whole content.
 */
function keyOfRow(
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

/** A row that cannot be read has another key: it runs if it is read after all. */
export function keyOfFound(
  { row, fault }: FoundRow,
  columns: readonly string[],
  config: DatabaseEventConfig,
): string {
  const key = keyOfRow(row, columns, config);
  return fault === undefined ? key : `unreadable:${key}`;
}

/** The key that records that a row was seen as new, independent of its changes. */
export function birthOf(row: TextRow, columns: readonly string[], config: DatabaseEventConfig): string {
  return `born:${keyOfRow(row, columns, { ...config, events: ['insert'] })}`;
}
