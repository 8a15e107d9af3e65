import type { Position } from '../../http/operations/index.js';

const rowsMax = 500;

/** All rows of a list that is read in pages, newest first. */
export async function everyPage<Row extends { readonly id: string; readonly created_at: Date }>(
  read: (page: { readonly after: Position | undefined; readonly rows: number }) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (;;) {
    const last = all.at(-1);
    const after = last === undefined ? undefined : { at: last.created_at, id: last.id };
    const rows = await read({ after, rows: rowsMax });
    for (const row of rows) all.push(row);
    if (rows.length < rowsMax) return all;
  }
}
