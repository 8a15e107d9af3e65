import type { ReactNode } from 'react';
import type { Pages } from '../api/queries';
import { cx } from './cx';
import { MoreRows } from './more-rows';
import { Failure, Loading } from './states';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand at the right, so that their digits line up. */
  readonly numeric?: boolean;
  /** Not shown on a phone. */
  readonly wideOnly?: boolean;
}

/** Rows in columns. The first column names its row. */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  /** What the rows are, for readers who do not see the page. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}) {
  const cellClass = ({ numeric, wideOnly }: Column<Row>): string =>
    cx(
      'px-3 py-2 align-middle',
      numeric === true ? 'text-right' : 'text-left',
      wideOnly === true && 'max-md:hidden',
    );
  return (
    // A wide table scrolls in its own box, and with the keyboard.
    <div
      className="overflow-x-auto rounded-lg border border-line bg-surface"
      tabIndex={0}
      role="region"
      aria-label={caption}
    >
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">{caption}</caption>
        <thead className="border-b border-line bg-sunken text-xs text-muted">
          <tr>
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                className={cx(cellClass(column), 'font-medium whitespace-nowrap')}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} className="border-b border-line last:border-0 hover:bg-hover">
              {columns.map((column, index) =>
                index === 0 ? (
                  <th
                    key={column.title}
                    scope="row"
                    className={cx(cellClass(column), 'font-medium max-md:min-w-28')}
                  >
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} className={cellClass(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A list with its states: loading, error, empty, and more rows on demand. */
export function PagedTable<Row>({
  pages,
  empty,
  ...table
}: {
  readonly pages: Pages<Row>;
  readonly empty: ReactNode;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
}) {
  const { query, rows, more, liveness } = pages;
  if (query.isPending) return <Loading label={table.caption} />;
  if (query.isError && rows.length === 0)
    return <Failure error={query.error} retry={() => void query.refetch()} />;
  if (rows.length === 0) return empty;
  return (
    <div className="flex flex-col gap-3">
      <DataTable {...table} rows={rows} />
      <MoreRows query={query} more={more} verb="Load more" isFollowed={liveness !== 'off'} />
    </div>
  );
}
