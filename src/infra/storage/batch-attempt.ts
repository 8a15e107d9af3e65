// One row in a batch, and the meaning of a failed attempt for the rows of its batch.
import { StoreError } from './errors.js';

export class Entry<Row, Outcome> {
  readonly row: Row;
  readonly bytes: number;
  /** The owner of the row, for fair ordering. */
  readonly share: string | undefined;
  readonly deadlineMs: number;
  /** True if the row was sent and PostgreSQL has not reported a rollback: it may have been written. */
  unknown = false;
  settled = false;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    row: Row,
    bytes: number,
    share: string | undefined,
    deadlineMs: number,
    resolve: (outcome: Outcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.row = row;
    this.bytes = bytes;
    this.share = share;
    this.deadlineMs = deadlineMs;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(outcome: Outcome | StoreError): void {
    this.settled = true;
    if (outcome instanceof StoreError) this.#reject(outcome);
    else this.#resolve(outcome);
  }
}

/** The meaning of a failed statement for its rows. */
export type Verdict = 'not-written' | 'one-is-wrong' | 'one-may-be-held-up' | 'all-are-wrong' | 'unknown';

export function classify({ failure, sqlState }: StoreError): Verdict {
  switch (failure) {
    case 'unique':
    case 'foreign-key':
    case 'check':
    case 'not-null':
    case 'invalid-value':
    case 'forbidden':
      return 'one-is-wrong';
    case 'timeout':
      return 'one-may-be-held-up'; // most likely by another transaction's lock
    case 'conflict':
      return 'not-written'; // PostgreSQL rolled it back
    case 'unavailable':
    case 'overloaded':
    case 'outcome-unknown':
      return 'unknown';
    case 'unexpected-row':
      return 'all-are-wrong';
    case 'defect':
      // A code tells that PostgreSQL refused it. Few codes tell whether for a row, such as a text too long for an index, or
      // for the statement: the halves find out. No row of a batch is refused for another, at the price of a refused
      // statement for each row when the statement itself is wrong.
      return sqlState === undefined ? 'all-are-wrong' : 'one-is-wrong';
  }
}
