// Runs slonik's tagged statements on pg: slonik builds them, pg sends them, and each row is validated here against the
// schema of its statement.
import type pg from 'pg';
import type { CommonQueryMethods, QuerySqlToken } from 'slonik';
import type { z } from 'zod';
import { StoreError } from './errors.js';

/** The queries of a transaction. Rows are not streamed: large results are read in pages. */
export type Queries = Omit<CommonQueryMethods, 'many' | 'manyFirst' | 'query' | 'stream' | 'transaction'> & {
  query<Row extends z.ZodType>(token: QuerySqlToken<Row>): Promise<QueryOutcome<z.infer<Row>>>;
};

export type QueryOutcome<Row> = {
  readonly rows: readonly Row[];
  /** Rows returned or changed. */
  readonly rowCount: number;
};

/** The part of a connection that sends statements. */
export type Statements = {
  query(text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>>;
};

/** `failed` is called for each statement that fails, and throws. */
export function queriesOn(connection: Statements, failed: (error: unknown) => never): Queries {
  const send = async (sql: string, values: QuerySqlToken['values']) => {
    try {
      return await connection.query(sql.replaceAll('$slonik_', '$'), [...values]);
    } catch (error) {
      return failed(error);
    }
  };
  const query: Queries['query'] = async (token) => {
    const { rows, rowCount } = await send(token.sql, token.values);
    return { rows: rows.map((row) => checked(token, row)), rowCount: rowCount ?? 0 };
  };
  const any: Queries['any'] = async (token) => (await query(token)).rows;
  return {
    query,
    any,
    anyFirst: async (token) => (await any(token)).map(onlyValue),
    maybeOne: async (token) => oneAtMost(await any(token)) ?? null,
    maybeOneFirst: async (token) => {
      const row = oneAtMost(await any(token));
      return row === undefined ? null : onlyValue(row);
    },
    one: async (token) => exactlyOne(await any(token)),
    oneFirst: async (token) => onlyValue(exactlyOne(await any(token))),
    exists: async ({ sql, values }) => {
      const { rows } = await send(`select exists (${sql})`, values);
      return rows[0]?.['exists'] === true;
    },
  };
}

/** Only validated data reaches the caller; columns that the schema does not name are dropped. */
function checked<Row extends z.ZodType>({ parser }: QuerySqlToken<Row>, row: unknown): z.infer<Row> {
  const parsed = parser.safeParse(row);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, code }) => `${path.join('.')} ${code}`).join(', ');
  throw new StoreError('unexpected-row', `A row does not match its schema: ${issues}`);
}

function oneAtMost<Row>(rows: readonly Row[]): Row | undefined {
  if (rows.length > 1) throw new StoreError('unexpected-row', 'More than one row; expected at most one');
  return rows[0];
}

function exactlyOne<Row>(rows: readonly Row[]): Row {
  const row = oneAtMost(rows);
  if (row === undefined) throw new StoreError('unexpected-row', 'No row; expected exactly one');
  return row;
}

function onlyValue<Row>(row: Row): Row[keyof Row] {
  const values: Row[keyof Row][] = Object.values(row ?? {});
  const [value] = values;
  if (value === undefined || values.length > 1) {
    throw new StoreError('unexpected-row', `${values.length} columns; expected exactly one`);
  }
  return value;
}
