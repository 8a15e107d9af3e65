import { z } from 'zod';
import type { DatabaseConnection } from '../connection/database-connection.js';
import { catalogueRows } from './rows.js';
import { columnsStatement } from './statements.js';
import type { AllowedTables } from './table-name.js';

export const databaseSchema = z.object({
  tables: z.array(
    z.object({
      name: z.string(),
      schema: z.string(),
      columns: z.array(z.object({ name: z.string(), type: z.string(), nullable: z.boolean() })),
    }),
  ),
  truncated: z.literal(true).optional().describe('Set if there are more tables than are read at once.'),
});

export type DatabaseSchema = z.output<typeof databaseSchema>;
type Table = DatabaseSchema['tables'][number];

/** The bound of all tables together. The schema is stored in one piece and shown to models. */
const columnsMax = 20_000;

export async function readSchema(
  connection: DatabaseConnection,
  signal: AbortSignal,
  allowed: AllowedTables,
  limit = columnsMax,
): Promise<DatabaseSchema> {
  const answer = await connection.reading(signal, () =>
    connection.run(signal, columnsStatement, [...allowed.parameters, String(limit + 1)], {
      rowsMax: limit + 1,
      columnsMax: 5,
    }),
  );
  const tables: Table[] = [];
  const rows = catalogueRows(answer, 5);
  for (const [schema = '', name = '', column = '', type = '', nullable] of rows.slice(0, limit)) {
    if (!allowed.has({ schema, name })) continue;
    let table = tables.at(-1);
    if (table?.schema !== schema || table.name !== name) {
      table = { name, schema, columns: [] };
      tables.push(table);
    }
    // A table without columns has one row here, without a column name.
    if (column !== '') table.columns.push({ name: column, type, nullable: nullable === 'null' });
  }
  if (rows.length <= limit) return { tables };
  // The last table may have been cut in the middle.
  return { tables: tables.slice(0, -1), truncated: true };
}
