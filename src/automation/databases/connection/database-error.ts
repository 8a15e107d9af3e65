import pg from 'pg';
import { secretHider } from '../../../infra/diagnostics/index.js';
import { EgressError } from '../../../infra/egress/index.js';
import { PlatformError } from '../../../kernel/errors.js';

export type DatabaseFailure =
  /** No connection, a broken one, or failed TLS. */
  | 'unreachable'
  /** The server refused, with an SQLSTATE. */
  | 'refused'
  | 'timeout'
  /** More rows or bytes than allowed. */
  | 'too_large'
  /** The data received is not PostgreSQL's protocol. */
  | 'bad_answer'
  /** The caller has left, or the node stops. */
  | 'cancelled';

const terminal: ReadonlySet<DatabaseFailure> = new Set(['too_large', 'bad_answer', 'cancelled']);
const reasonLengthMax = 500;
/** Shorter texts are not redacted elsewhere; here the server that sends the text has been sent the password. */
const hiddenLengthMin = 4;
const mark = '[secret]';

/** A tenant's database could not be read. The message is safe to show to that tenant and contains no password. */
export class DatabaseError extends PlatformError {
  readonly failure: DatabaseFailure;
  /** The SQLSTATE, if the server refused. */
  readonly sqlState: string | undefined;

  constructor(
    failure: DatabaseFailure,
    reason: string,
    options: { readonly sqlState?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super('provider_error', {
      message: `The database could not be read: ${reason}`,
      details: { provider: 'postgresql', original_error: reason },
      cause: options.cause,
    });
    this.name = 'DatabaseError';
    this.failure = failure;
    this.sqlState = options.sqlState;
  }

  override get retry(): 'never' | 'later' {
    return terminal.has(this.failure) ? 'never' : 'later';
  }
}

/** Converts errors of the socket, TLS or the driver. A server may echo a password that it was sent; it is redacted. */
export function databaseErrorOf(error: unknown, password: string): unknown {
  if (error instanceof DatabaseError || !(error instanceof Error)) return error;
  if (error instanceof EgressError) {
    const failure = error.failure === 'timeout' ? 'timeout' : 'unreachable';
    return new DatabaseError(failure, error.message, { cause: error });
  }
  if (error instanceof pg.DatabaseError) {
    const { code: sqlState } = error;
    const words = readable(error.message ?? '', password);
    const known = sqlState !== undefined && /^[0-9A-Z]{5}$/.test(sqlState);
    return new DatabaseError('refused', known ? `${words} (${sqlState})` : words, {
      sqlState: known ? sqlState : undefined,
    });
  }
  return new DatabaseError('unreachable', readable(error.message, password));
}

function readable(text: string, password: string): string {
  const shown =
    password.length < hiddenLengthMin ? text.replaceAll(password, mark) : secretHider([password], mark)(text);
  return shown
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, reasonLengthMax)
    .toWellFormed();
}
