import pg from 'pg';
import { ClusterError } from '../../errors.js';

/** A time-out of a lock or a statement: PostgreSQL rolled it back. Most likely another transaction holds one of the rows. */
export function isHeldUp(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && (error.code === '55P03' || error.code === '57014');
}

/**
 * The classes of errors that another attempt may not meet: the connection, the state of its transaction, a rollback for
 * the sake of another transaction, a resource that is used up, an object in use, an operator, the machine.
 */
const transientClass = /^(?:08|25|26|28|40|53|55|57|58)/;

/**
 * PostgreSQL refused the statement for what it says: a constraint, a value out of range, a text too long for an index,
 * a fault of the code. The same statement would fail again. Classes that are not known count too: a batch with such a
 * statement is halved, so that at worst one write is refused, and repeating it would delay the writes of all tenants.
 *
 * The severity of an error is of no use: PostgreSQL translates it. `Connections` throws another error if the connection
 * ended with this one.
 */
export function isRefusal(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code = '', message } = error;
  // A change of the tables meets the statement: an internal error that passes.
  if (code === 'XX000' && message.startsWith('tuple concurrently')) return false;
  return !transientClass.test(code);
}

/** A write that cannot be made into statements: its text is too long for this process, or a value has no form in JSON. */
export class UnusableWrite extends Error {
  override readonly name = 'UnusableWrite';

  constructor(cause: unknown) {
    super(`no statement can be made of it: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

/**
 * The connection fails, an operator or a time-out of the session ends it, or its server does not write: it serves nobody,
 * even if it stays open.
 */
const endOfConnection = /^(?:08|57P|25006|25P03|25P04)/;

/** The statement failed and the connection most likely remains usable: whether it does, the next statement shows. */
export function isStatementError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !endOfConnection.test(error.code ?? '');
}

export function storeUnavailable(message: string, cause: unknown): ClusterError {
  if (cause instanceof ClusterError) return cause;
  return new ClusterError('store_unavailable', message, { cause });
}
