import type { Time } from '../../../../cluster/index.js';
import type { DatabaseConnection } from '../connection/database-connection.js';
import { DatabaseError } from '../connection/database-error.js';
import { catalogueRows } from './rows.js';
import { firstTableStatement } from './statements.js';
import { type AllowedTables, fullNameOf, isOfSystem, quoted, type TableName } from './table-name.js';

export interface Trial {
  /** As `schema.table`; null if there is none to try. */
  readonly testedTable: string | null;
  readonly accessible: boolean;
  /** The time of one query and its result. */
  readonly answeredAtMs: number;
}

/** Syntax, missing objects and missing rights: the server responded, but does not show this table to this user. */
const refusals = /^(?:42|3F)/;

/** Tries the first allowed table, or any table, and reports whether it may be read. */
export async function tryTable(
  connection: DatabaseConnection,
  signal: AbortSignal,
  time: Time,
  allowed: AllowedTables,
): Promise<Trial> {
  return connection.reading(signal, async () => {
    const answeredAtMs = time.monotonicMs();
    const table = await tableToTry(connection, signal, allowed);
    if (table === undefined) return { testedTable: null, accessible: false, answeredAtMs };
    const accessible = !isOfSystem(table) && (await mayRead(connection, signal, table));
    return { testedTable: fullNameOf(table), accessible, answeredAtMs };
  });
}

async function tableToTry(
  connection: DatabaseConnection,
  signal: AbortSignal,
  allowed: AllowedTables,
): Promise<TableName | undefined> {
  if (allowed.names !== null) return allowed.names[0];
  const answer = await connection.run(signal, firstTableStatement, [null, null, '1'], {
    rowsMax: 1,
    columnsMax: 2,
  });
  const [first] = catalogueRows(answer, 2);
  return first === undefined ? undefined : { schema: first[0] ?? '', name: first[1] ?? '' };
}

/** Rights are checked before the first row is read, so no row has to be. */
async function mayRead(
  connection: DatabaseConnection,
  signal: AbortSignal,
  table: TableName,
): Promise<boolean> {
  try {
    const text = `select 1 from ${quoted(table)} limit 0`;
    await connection.run(signal, text, [], { rowsMax: 0, columnsMax: 0 });
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && refusals.test(error.sqlState ?? '')) return false;
    throw error;
  }
}
