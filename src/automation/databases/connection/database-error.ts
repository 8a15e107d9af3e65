import pg from 'pg';
import { secretHider } from '../../../infra/diagnostics/index.js';
import { EgressError } from '../../../infra/egress/index.js';
import { PlatformError } from '../../../kernel/errors.js';

export type DatabaseFailure =
  /** No connection, a broken one, or TLS that was not agreed on. */
  | 'unreachable'
  /** The server said no, with a code of its own. */
  | 'refused'
  | 'timeout'
  /** More rows or bytes than were asked for. */
  | 'too_large'
  /** What came is not PostgreSQL's protocol. */
  | 'bad_answer'
  /** Whoever asked has gone, or the node stops. */
  | 'cancelled';

const terminal: ReadonlySet<DatabaseFailure> = new Set(['too_large', 'bad_answer', 'cancelled']);
const reasonLengthMax = 500;
/** Shorter ones are no secrets elsewhere; here the whole text comes from whoever was sent one. */
const hiddenLengthMin = 4;
const mark = '[secret]';

/** A database of a tenant that could not be read. Its words are fit for that tenant and hold no password. */
export class DatabaseError extends PlatformError {
  readonly failure: DatabaseFailure;
  /** PostgreSQL's code, where the server said no. */
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

/** What the socket, TLS or the driver threw. A server may repeat a password that it was sent; nobody is shown it. */
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
