import type { FoundPage } from '../../infra/storage/index.js';

interface Placed {
  readonly id: string;
  readonly created_at: Date;
}

/**
 * One page of several lists, newest first. A row that is older than the last of a list that has more is left to the next
 * page: what follows there comes before it. `end`: the last row of a list from which some were left out.
 */
export function mergedPage<Row extends Placed>(
  lists: readonly (FoundPage<Row> & { readonly end?: Placed | undefined })[],
  limit: number,
): FoundPage<Row> {
  const ends = lists.flatMap(({ rows, hasMore, end = rows.at(-1) }) =>
    hasMore && end !== undefined ? [end] : [],
  );
  const merged = lists
    .flatMap(({ rows }) => rows)
    .filter((row) => ends.every((end) => newestFirst(row, end) <= 0))
    .toSorted(newestFirst);
  return {
    rows: merged.slice(0, limit),
    hasMore: merged.length > limit || lists.some(({ hasMore }) => hasMore),
  };
}

function newestFirst(one: Placed, other: Placed): number {
  return other.created_at.getTime() - one.created_at.getTime() || (one.id < other.id ? 1 : -1);
}
