import { ClusterError } from '../errors.js';
import type { Cell } from './cell.js';
import type { EndReason } from './kind.js';

/** What the calls of an activation hear when it ends under them. */
export function endError(cell: Cell, reason: EndReason): ClusterError {
  const what = `${cell.kind.name} ${cell.key}`;
  if (reason === 'fenced') return new ClusterError('fenced', `a newer activation of ${what} exists`);
  if (reason === 'lease_lost') return new ClusterError('fenced', `the node of ${what} lost its lease`);
  return new ClusterError('not_serving', `${what} left memory (${reason})`);
}

/** For calls that still waited: they may be sent again whatever they do. */
export function withNotBegun(error: ClusterError): ClusterError {
  if (error.notBegun) return error;
  const retry = error.retry === 'never' ? 'not_serving' : error.tag;
  return new ClusterError(retry, error.message, { cause: error, notBegun: true });
}
