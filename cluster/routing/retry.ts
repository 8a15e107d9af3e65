import type { Method } from '../activation/method.js';
import type { ClusterError } from '../errors.js';

/**
 * What follows a failed attempt. A call that no handler has started may always be resent; one that may have run only
 * if its method allows repeats. Overload is not retried here, so that callers slow down. `moved` counts as a hop. An
 * unreachable durable store is retried for the duration of a short failover and no longer; otherwise callers would
 * pile up until their deadlines. Everything else is retried until the deadline.
 */
export type RetryDecision = 'end' | 'hop' | 'pause' | 'pause_for_store';

export function retryAfter(error: ClusterError, method: Method): RetryDecision {
  switch (error.tag) {
    case 'moved':
      return 'hop';
    case 'not_serving':
    case 'no_owner':
    case 'peer_lost':
    case 'wrong_process':
    case 'fenced':
    case 'outcome_unknown':
      return error.notBegun || method.idempotent ? 'pause' : 'end';
    case 'store_unavailable':
      return error.notBegun || method.idempotent ? 'pause_for_store' : 'end';
    case 'unknown_kind':
    case 'unknown_method':
    case 'message_too_large':
    case 'bad_message':
    case 'protocol_mismatch':
    case 'wrong_secret':
    case 'overloaded':
    case 'deadline_exceeded':
    case 'cancelled':
    case 'activation_failed':
    case 'handler_failed':
    case 'request_conflict':
    case 'protocol_violation':
    case 'membership_unavailable':
    case 'call_cycle':
    case 'write_rejected':
    case 'application':
      return 'end';
  }
}
