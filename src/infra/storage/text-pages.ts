import { z } from 'zod';
import { sql } from './query.js';

type Fragment = ReturnType<typeof sql.fragment>;

/** What a query found that ends a page by other bounds than the number of rows too. */
export interface FoundPage<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/** What one read may hold of texts: a message has up to 3 MB, and a page 100 messages. */
export const textBytesMax = 4 * 1024 * 1024;

/**
 * The first rows of `page` whose texts are within the bound, and always one. `page` is ordered and limited, and says in
 * `text_bytes` how long the text of a row is. PostgreSQL knows that without reading a text that is stored apart.
 */
export function withinTextBytes(page: Fragment, order: Fragment, bytesMax = textBytesMax): Fragment {
  return sql.fragment`
    select * from (
      select p.*, count(*) over () as page_rows,
        sum(p.text_bytes) over (order by ${order} rows unbounded preceding) - p.text_bytes as bytes_before
      from (${page}) p
    ) f where f.bytes_before < ${bytesMax} order by ${order}`;
}

/** How many rows the page had before texts were counted. */
export const pageRows = { page_rows: z.coerce.number() };

/** `limit` is one less than the rows that `page` may have. */
export function foundPage<Row extends { readonly page_rows: number }>(
  rows: readonly Row[],
  limit: number,
): FoundPage<Row> {
  const hasMore = (rows[0]?.page_rows ?? 0) > Math.min(rows.length, limit);
  return { rows: rows.slice(0, limit), hasMore };
}

/** What a list that answers all its rows may hold of them: an agent has up to 0.3 MB, and a tenant 5,000 of them. */
export const listBytesMax = 8 * 1024 * 1024;
/** PostgreSQL looks at the texts of so many rows at once to measure them. */
const partRows = 500;

/**
 * The rows of all pages together, until there are no more or their texts are above the bound. `read` gives so many rows
 * behind one.
 */
export async function allPages<Row extends { readonly text_bytes: number }>(
  read: (after: Row | undefined, limit: number) => Promise<FoundPage<Row>>,
): Promise<FoundPage<Row>> {
  const rows: Row[] = [];
  let bytes = 0;
  for (;;) {
    const part = await read(rows.at(-1), partRows);
    for (const row of part.rows) {
      rows.push(row);
      bytes += row.text_bytes;
    }
    if (!part.hasMore || bytes >= listBytesMax) return { rows, hasMore: part.hasMore };
  }
}
