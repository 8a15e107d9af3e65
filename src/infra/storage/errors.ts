// The failures of the store. Each says whether the same call may be retried. None contains values of a row, which
// PostgreSQL's own messages do.

export type StoreFailure =
  /** The database cannot be reached, is starting or stopping, or ended the connection. */
  | 'unavailable'
  /** The queue for connections is full. */
  | 'overloaded'
  /** The statement exceeded its time limit, or waited too long for a lock. */
  | 'timeout'
  /** Still in conflict with concurrent transactions after all attempts. */
  | 'conflict'
  /** It could not be determined before the deadline whether the write was committed. */
  | 'outcome-unknown'
  | 'unique'
  | 'foreign-key'
  | 'check'
  | 'not-null'
  /** A value that the column cannot store. */
  | 'invalid-value'
  /** Refused by a row policy or for a missing grant. */
  | 'forbidden'
  /** A row did not have the shape that the code expects. */
  | 'unexpected-row'
  /** A mistake in the code, such as invalid SQL. */
  | 'defect';

const retryable: ReadonlySet<StoreFailure> = new Set(['unavailable', 'overloaded', 'timeout', 'conflict']);

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly failure: StoreFailure;
  /** Whether the same call may succeed later. A call that failed during its commit may have been committed. */
  readonly retryable: boolean;
  /** PostgreSQL's error code, if the failure came from PostgreSQL. */
  readonly sqlState: string | undefined;
  /** The constraint that refused the row, e.g. `users_email_key`. */
  readonly constraint: string | undefined;

  constructor(
    failure: StoreFailure,
    message: string,
    details: { sqlState?: string | undefined; constraint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.failure = failure;
    this.retryable = retryable.has(failure);
    this.sqlState = details.sqlState;
    this.constraint = details.constraint;
  }
}

/** Whether `error` is a violation of a unique constraint; of the named one, if a name is given. */
export function isUniqueViolation(error: unknown, constraint?: string): error is StoreError {
  return (
    error instanceof StoreError &&
    error.failure === 'unique' &&
    (constraint === undefined || error.constraint === constraint)
  );
}

/** Translates errors of pg or the socket; all other errors pass unchanged. */
export function toStoreError(error: unknown, attempted: string): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const sqlState = stringField(error, 'code');
  const failure = classify(error, sqlState);
  if (failure === undefined) return error;
  const details = {
    sqlState,
    constraint: stringField(error, 'constraint'),
    cause: withoutValues(error, failure),
  };
  return new StoreError(failure, `${attempted}: ${summary(failure, details)}`, details);
}

function classify(error: Error, sqlState: string | undefined): StoreFailure | undefined {
  if (sqlState !== undefined) return fromCode(sqlState);
  // pg reports a lost connection only by its message.
  return /connection terminated|not queryable|timeout exceeded when trying to connect|timeout expired|query read timeout/i.test(
    error.message,
  )
    ? 'unavailable'
    : undefined;
}

/** Node's codes for socket and look-up failures. Listed one by one, because other codes begin with E as well. */
const socketCodes = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

function fromCode(code: string): StoreFailure | undefined {
  if (socketCodes.has(code)) return 'unavailable';
  if (!/^[0-9A-Z]{5}$/.test(code)) return undefined;
  const exact: Record<string, StoreFailure> = {
    '23505': 'unique',
    '23503': 'foreign-key',
    '23514': 'check',
    '23502': 'not-null',
    '42501': 'forbidden',
    '57014': 'timeout',
    '55P03': 'timeout',
    '25P03': 'timeout',
    '25006': 'unavailable', // the primary became a read-only replica
  };
  const byClass: Record<string, StoreFailure> = {
    '08': 'unavailable',
    '22': 'invalid-value',
    '23': 'check',
    '40': 'conflict',
    '53': 'unavailable',
    '57': 'unavailable',
    '58': 'unavailable',
  };
  return exact[code] ?? byClass[code.slice(0, 2)] ?? 'defect';
}

function summary(
  failure: StoreFailure,
  details: { sqlState?: string | undefined; constraint?: string | undefined },
) {
  const parts = [failure.replaceAll('-', ' ')];
  if (details.constraint !== undefined) parts.push(`constraint ${details.constraint}`);
  if (details.sqlState !== undefined) parts.push(`code ${details.sqlState}`);
  return parts.join(', ');
}

/** Keeps message and stack, without `detail`, `values` and `row`, which quote written values. */
function withoutValues(error: Error, failure: StoreFailure): Error {
  // Only messages about a value quote it; other messages quote names of tables and columns.
  const message = failure === 'invalid-value' ? error.message.replaceAll(/"[^"]*"/g, '"…"') : error.message;
  const clean = new Error(message);
  if (error.stack !== undefined) clean.stack = error.stack.replace(error.message, clean.message);
  return clean;
}

function stringField(error: Error, name: 'code' | 'constraint'): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' ? value : undefined;
}
