import pg from 'pg';
import { type Time, withinSignal } from '../../../../cluster/index.js';
import type { DatabaseConnection } from '../connection/database-connection.js';
import { DatabaseError } from '../connection/database-error.js';
import { catalogueRows } from './rows.js';
import { countableStatement, countedMax } from './statements.js';
import { type AllowedTables, quoted, type TableName } from './table-name.js';

const tablesMax = 1_000;
/** A larger table is not counted: its few rows may lie between very many deleted ones. */
const countedBytesMax = 64 * 1024 * 1024;
/** The locks of a transaction's tables and their indexes are taken from those of all clients of the server. */
const atOnce = 50;
/** No statement begins after this time. */
const beginMs = 2_000;
/** Everything ends after this time, whatever the server does: what has been read already is the answer. */
const endMs = 4_000;
/** A table that somebody has locked keeps its estimate. */
const settings = 'set local statement_timeout = 1000; set local lock_timeout = 50';

/**
 * Counts the rows of small tables, by their quoted names: PostgreSQL's estimates lag behind what was written last. A
 * table that is absent here could not be counted.
 */
export async function countRows(
  connection: DatabaseConnection,
  signal: AbortSignal,
  time: Time,
  allowed: AllowedTables,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const beginsUntilMs = time.monotonicMs() + beginMs;
  const late = () =>
    new DatabaseError('timeout', `the rows were not counted within ${endMs / 1_000} seconds`);
  const count = async (tables: readonly TableName[], inTime: AbortSignal): Promise<void> => {
    if (tables.length === 0 || time.monotonicMs() > beginsUntilMs) return;
    try {
      for (const [name, rows] of await countsOf(connection, inTime, tables)) counts.set(name, rows);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // One of them is locked, dropped or slow; the others are counted without it.
      if (tables.length === 1) return;
      const middle = Math.ceil(tables.length / 2);
      await count(tables.slice(0, middle), inTime);
      await count(tables.slice(middle), inTime);
    }
  };
  try {
    await withinSignal(time, endMs, signal, late, async (inTime) => {
      const tables = await countable(connection, inTime, allowed);
      for (let at = 0; at < tables.length; at += atOnce) await count(tables.slice(at, at + atOnce), inTime);
    });
  } catch (error) {
    const isLate = error instanceof DatabaseError && error.failure === 'timeout';
    if (!isLate && !isRefusal(error)) throw error;
  }
  return counts;
}

async function countable(
  connection: DatabaseConnection,
  signal: AbortSignal,
  allowed: AllowedTables,
): Promise<readonly TableName[]> {
  const answer = await connection.reading(signal, () =>
    connection.run(signal, countableStatement, [...allowed.parameters, String(tablesMax)], {
      rowsMax: tablesMax,
      columnsMax: 2,
    }),
  );
  const tables = catalogueRows(answer, 2).map(([schema = '', name = '']) => ({ schema, name }));
  return tables.filter((table) => allowed.has(table));
}

async function countsOf(
  connection: DatabaseConnection,
  signal: AbortSignal,
  tables: readonly TableName[],
): Promise<ReadonlyMap<string, number>> {
  const answer = await connection.reading(signal, async () => {
    await connection.run(signal, settings, [], { rowsMax: 0, columnsMax: 0 });
    return connection.run(signal, countsStatement(tables), [], { rowsMax: tables.length, columnsMax: 2 });
  });
  const counts = new Map<string, number>();
  for (const [place, count = ''] of catalogueRows(answer, 2)) {
    const table = tables[Number(place)];
    const rows = count === '' ? Number.NaN : Number(count);
    const isCount = Number.isInteger(rows) && rows >= 0 && rows <= countedMax + 1;
    if (table !== undefined && isCount) counts.set(quoted(table), rows);
  }
  return counts;
}

/** The place in the list and the number of rows of each table, up to one more than are counted; null if it is large. */
function countsStatement(tables: readonly TableName[]): string {
  const counts = tables.map((table, place) => {
    const name = quoted(table);
    // Without `only`, the tables that inherit from it, which may be foreign, would be read too.
    return `select ${place}, case when pg_relation_size(${pg.escapeLiteral(name)}::regclass) <= ${countedBytesMax}
      then (select count(*) from (select 1 from only ${name} limit ${countedMax + 1}) as counted) end`;
  });
  return counts.join(' union all ');
}

function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && error.failure === 'refused';
}
