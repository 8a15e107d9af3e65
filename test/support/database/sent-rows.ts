// How long a row waits for others, counted in rows that are sent before it. Rows that are written meanwhile would tell of
// the machine too: while one connection still opens or is held up, another may write many.
import type { BatchTarget } from '../../../src/infra/storage/index.js';

export interface SentRows<Row, Outcome> {
  readonly target: BatchTarget<Row, Outcome>;
  /** Of all statements, each row once. */
  count(): number;
  /** How many were sent before the row; without end while it waits. */
  before(row: Row): number;
}

export function countSentRows<Row extends object, Outcome>(
  target: BatchTarget<Row, Outcome>,
): SentRows<Row, Outcome> {
  const sentBefore = new Map<Row, number>();
  return {
    target: {
      ...target,
      // The first that is asked for each statement.
      shorter: (rows) => {
        const before = sentBefore.size;
        for (const row of rows) if (!sentBefore.has(row)) sentBefore.set(row, before);
        return target.shorter?.(rows);
      },
    },
    count: () => sentBefore.size,
    before: (row) => sentBefore.get(row) ?? Number.POSITIVE_INFINITY,
  };
}
