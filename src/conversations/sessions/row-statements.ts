/** Writes rows of one table by one statement: an insert, or an update of existing rows. */
import type { WritingStatement } from '../../../cluster/index.js';

export interface Table {
  readonly name: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly key: readonly string[];
  /** The columns that a later write of the same row updates. */
  readonly changes: readonly string[];
  /** The columns that one write sets, and a later one only sets to null: a new master key seals their values again meanwhile. */
  readonly clears?: readonly string[];
  /** The condition under which a row may still change. */
  readonly guard?: string;
  readonly returning?: string;
}

/** Builds a statement from at least one row. */
export type RowsStatement = (rows: readonly object[]) => WritingStatement;

/**
 * A single row, the usual case at low load, is passed as parameters: measured, this takes PostgreSQL an eighth less
 * time per turn than a JSON list. Many rows go as one JSON list: one list per column would save PostgreSQL a little
 * and cost this process as much.
 */
export function upsert(table: Table): RowsStatement {
  const columns = Object.entries(table.columns);
  const alone = statementOf(
    table,
    '_alone',
    (first) => `select ${columns.map(([, type], place) => `$${first + place}::${type}`).join(', ')}`,
  );
  const many = listed(
    statementOf(
      table,
      '',
      (first) =>
        `select ${columns.map(([name]) => name).join(', ')} from jsonb_to_recordset($${first}::jsonb)
          as w (${columns.map(([name, type]) => `${name} ${type}`).join(', ')})`,
    ),
  );
  return (rows) => {
    const [row, ...others] = rows;
    if (row === undefined || others.length > 0) return many(rows);
    return { ...alone, values: columns.map(([name, type]) => valueOf(type, Reflect.get(row, name))) };
  };
}

/** Passes the rows as a JSON list, the statement's only parameter. */
export function listed(statement: Omit<WritingStatement, 'values'>): RowsStatement {
  return (rows) => ({ ...statement, values: [JSON.stringify(rows)] });
}

function statementOf(
  { name, columns, key, changes, clears = [], guard, returning }: Table,
  form: string,
  rows: (firstParameter: number) => string,
): Omit<WritingStatement, 'values'> {
  const sets = [
    ...changes.map((column) => `${column} = excluded.${column}`),
    ...clears.map(
      (column) =>
        `${column} = case when excluded.${column} is not null then coalesce(${name}.${column}, excluded.${column}) end`,
    ),
  ];
  const conflict =
    sets.length === 0
      ? 'do nothing'
      : `do update set ${sets.join(', ')}${guard === undefined ? '' : ` where ${guard}`}`;
  const text = (firstParameter: number, condition: string): string =>
    `insert into ${name} (${Object.keys(columns).join(', ')})
      ${rows(firstParameter)} where ${condition}
      on conflict (${key.join(', ')}) ${conflict}
      ${returning === undefined ? '' : `returning ${returning}`}`;
  return {
    name: `session_${name}${form}`,
    text: text(1, 'true'),
    part: { name: `written_${name}${form}`, text, answers: returning !== undefined },
  };
}

/** Without this, lists in JSON columns would be sent as PostgreSQL arrays. */
function valueOf(type: string, value: unknown): unknown {
  return type !== 'jsonb' || value === null || value === undefined ? value : JSON.stringify(value);
}
