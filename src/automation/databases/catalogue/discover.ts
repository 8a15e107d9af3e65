import { z } from 'zod';
import type { DatabaseConnection } from '../connection/database-connection.js';
import { catalogueRows } from './rows.js';
import { tablesStatement } from './statements.js';
import { type AllowedTables, fullNameOf } from './table-name.js';

export const discoveredSchema = z.object({
  name: z.string(),
  tables: z.array(
    z.object({
      name: z.string(),
      full_name: z.string(),
      row_count: z.int().describe('PostgreSQL’s estimate, not a count.'),
    }),
  ),
  views: z.array(z.object({ name: z.string(), full_name: z.string() })),
});

export type DiscoveredSchema = z.output<typeof discoveredSchema>;

export interface Discovery {
  readonly schemas: DiscoveredSchema[];
  /** There are more tables than are listed at once. */
  readonly truncated: boolean;
}

const tablesMax = 10_000;

export async function discover(
  connection: DatabaseConnection,
  signal: AbortSignal,
  allowed: AllowedTables,
): Promise<Discovery> {
  const answer = await connection.reading(signal, () =>
    connection.run(signal, tablesStatement, [...allowed.parameters, String(tablesMax + 1)], {
      rowsMax: tablesMax + 1,
      columnsMax: 4,
    }),
  );
  const rows = catalogueRows(answer, 4);
  const schemas = new Map<string, DiscoveredSchema>();
  for (const [schema = '', name = '', kind, count] of rows.slice(0, tablesMax)) {
    if (!allowed.has({ schema, name })) continue;
    let found = schemas.get(schema);
    if (found === undefined) schemas.set(schema, (found = { name: schema, tables: [], views: [] }));
    const full_name = fullNameOf({ schema, name });
    if (kind === 'view') found.views.push({ name, full_name });
    else found.tables.push({ name, full_name, row_count: countOf(count) });
  }
  return { schemas: [...schemas.values()], truncated: rows.length > tablesMax };
}

function countOf(text: string | undefined): number {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
