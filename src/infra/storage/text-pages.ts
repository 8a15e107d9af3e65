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
