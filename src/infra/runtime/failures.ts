import { ActorError, ClusterError, type ClusterErrorTag } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';

/** Reached or not, the same call may succeed in a moment: an owner moves, a queue is full, a store is away. */
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
  // While nodes of two versions run side by side, the owner may be one that does not have the kind yet.
  'unknown_kind',
  'unknown_method',
]);

/**
 * What a failure of the runtime means for whoever asked: 503 with `Retry-After` where waiting helps. Undefined for
 * errors that an actor kind throws itself, which its subject knows how to tell, and for what nobody foresaw.
 */
export function toPlatformError(error: unknown): PlatformError | undefined {
  if (!(error instanceof ClusterError) || error instanceof ActorError) return undefined;
  if (error.tag === 'message_too_large') return new PlatformError('payload_too_large', { cause: error });
  if (error.tag === 'request_conflict') return new PlatformError('conflict', { cause: error });
  if (!passing.has(error.tag)) return undefined;
  const retryAfterSeconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 0) / 1_000));
  return new PlatformError('service_unavailable', { retryAfterSeconds, cause: error });
}
