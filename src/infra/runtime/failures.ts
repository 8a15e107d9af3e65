import { ActorError, ClusterError, type ClusterErrorTag } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';

/** Temporary failures, whether or not the call was reached: an owner moves, a queue is full, a store is unavailable. */
const passing: ReadonlySet<ClusterErrorTag> = new Set<ClusterErrorTag>([
  'moved',
  'no_owner',
  'not_serving',
  'overloaded',
  'deadline_exceeded',
  'cancelled',
  'peer_lost',
  'wrong_process',
  'fenced',
  'activation_failed',
  'outcome_unknown',
  'store_unavailable',
  'membership_unavailable',
  // With two versions side by side, the owner may run the one that does not have the kind yet.
  'unknown_kind',
  'unknown_method',
]);

/**
 * Maps a failure of the runtime to an error for the caller: 503 with `Retry-After` if waiting helps. Undefined for errors
 * that an actor throws itself, which its subject handles, and for unexpected failures.
 */
export function toPlatformError(error: unknown): PlatformError | undefined {
  if (!(error instanceof ClusterError) || error instanceof ActorError) return undefined;
  if (error.tag === 'message_too_large')
    return new PlatformError('payload_too_large', {
      message: 'The request is too large to be passed on within the cluster. Send less.',
      cause: error,
    });
  if (error.tag === 'request_conflict')
    return new PlatformError('conflict', {
      message: 'A request with this id was sent before, with other content. Use a new id.',
      cause: error,
    });
  if (!passing.has(error.tag)) return undefined;
  const retryAfterSeconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 0) / 1_000));
  return new PlatformError('service_unavailable', {
    message: 'The node that this request belongs to is changing. Retry in a moment.',
    retryAfterSeconds,
    cause: error,
  });
}
