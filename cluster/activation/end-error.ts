import { ClusterError, toClusterError } from '../errors.js';
import type { Cell } from './cell.js';
import type { EndReason } from './kind.js';

/** The error for the calls of an activation that ends before they do. */
export function endError(cell: Cell, reason: EndReason): ClusterError {
  const actor = `${cell.kind.name} ${cell.key}`;
  if (reason === 'fenced') return new ClusterError('fenced', `a newer activation of ${actor} exists`);
  if (reason === 'lease_lost') return new ClusterError('fenced', `the node of ${actor} lost its lease`);
  return new ClusterError('not_serving', `${actor} was removed from memory (${reason})`);
}

/** The error for calls that were still waiting: they may be resent, whatever their method does. */
export function withNotBegun(error: ClusterError): ClusterError {
  if (error.notBegun) return error;
  const retry = error.retry === 'never' ? 'not_serving' : error.tag;
  return new ClusterError(retry, error.message, { cause: error, notBegun: true });
}

/** The calls of an actor that could not be loaded have not begun. */
export function loadError(cell: Cell, error: unknown): ClusterError {
  const known = toClusterError(error, 'activation_failed');
  return new ClusterError(known.tag, `${cell.kind.name} failed to load: ${known.message}`, {
    cause: error,
    notBegun: true,
    ...(known.retryAfterMs === undefined ? {} : { retryAfterMs: known.retryAfterMs }),
  });
}
