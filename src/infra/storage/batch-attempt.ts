// One row on its way, and what a failed attempt says about the rows that it carried.
import { StoreError } from './errors.js';

export class Entry<Row, Outcome> {
  readonly row: Row;
  readonly bytes: number;
  /** Whose row it is. */
  readonly share: string | undefined;
  readonly deadlineMs: number;
  /** Whether it may have been written without our knowing: sent, and PostgreSQL has not said that it was undone. */
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

/** What a failed statement says about the rows in it. */
export type Verdict = 'not-written' | 'one-is-wrong' | 'one-may-be-held-up' | 'all-are-wrong' | 'unknown';

export function judge({ failure, sqlState }: StoreError): Verdict {
  switch (failure) {
    case 'unique':
    case 'foreign-key':
    case 'check':
    case 'not-null':
    case 'invalid-value':
    case 'forbidden':
      return 'one-is-wrong';
    case 'timeout':
      return 'one-may-be-held-up'; // most likely by somebody's lock
    case 'conflict':
      return 'not-written'; // PostgreSQL has undone it and said so
    case 'unavailable':
    case 'overloaded':
    case 'outcome-unknown':
      return 'unknown';
    case 'unexpected-row':
    case 'defect':
      // An exception of a trigger is about a row; anything else is about the statement.
      return sqlState?.startsWith('P0') === true ? 'one-is-wrong' : 'all-are-wrong';
  }
}
