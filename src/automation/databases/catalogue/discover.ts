import { z } from 'zod';
import type { Time } from '../../../../cluster/index.js';
import type { DatabaseConnection } from '../connection/database-connection.js';
import { countRows } from './count-rows.js';
import { catalogueRows } from './rows.js';
import { countedMax, tablesStatement } from './statements.js';
import { type AllowedTables, fullNameOf, quoted } from './table-name.js';

export const discoveredSchema = z.object({
  name: z.string(),
  tables: z.array(
    z.object({
      name: z.string(),
      full_name: z.string(),
      row_count: z
        .int()
        .describe(
          `Counted in small tables that may be read; else PostgreSQL’s estimate, as of more than ${countedMax} rows.`,
        ),
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
  time: Time,
  allowed: AllowedTables,
): Promise<Discovery> {
  const answer = await connection.reading(signal, () =>
    connection.run(signal, tablesStatement, [...allowed.parameters, String(tablesMax + 1)], {
      rowsMax: tablesMax + 1,
      columnsMax: 4,
    }),
  );
  const rows = catalogueRows(answer, 4);
  const counts = await countRows(connection, signal, time, allowed);
  const schemas = new Map<string, DiscoveredSchema>();
  for (const [schema = '', name = '', kind, count] of rows.slice(0, tablesMax)) {
    if (!allowed.has({ schema, name })) continue;
    let found = schemas.get(schema);
    if (found === undefined) schemas.set(schema, (found = { name: schema, tables: [], views: [] }));
    const full_name = fullNameOf({ schema, name });
    if (kind === 'view') found.views.push({ name, full_name });
    else {
      const counted = counts.get(quoted({ schema, name }));
      found.tables.push({ name, full_name, row_count: rowCount(countOf(count), counted) });
    }
  }
  return { schemas: [...schemas.values()], truncated: rows.length > tablesMax };
}

function rowCount(estimate: number, counted: number | undefined): number {
  return counted === undefined || counted > countedMax ? Math.max(estimate, counted ?? 0) : counted;
}

function countOf(text: string | undefined): number {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
