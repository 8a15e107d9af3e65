import pg from 'pg';
import { ClusterError } from '../../errors.js';

/** A time-out of a lock or a statement: PostgreSQL rolled it back. Most likely another transaction holds one of the rows. */
export function isHeldUp(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && (error.code === '55P03' || error.code === '57014');
}

/** The statement failed and the connection remains usable. */
export function isStatementError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

export function storeUnavailable(message: string, cause: unknown): ClusterError {
  if (cause instanceof ClusterError) return cause;
  return new ClusterError('store_unavailable', message, { cause });
}
