import { channelOf, type InboxMessage } from '../messages/inbox-message.js';
import { deadlineOf } from '../outbox/replies/deadlines.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import type { TurnOrder } from '../triggers/ports.js';
import { isPolled, requestsOf } from '../triggers/types/registry.js';

/** Messages that a sender pushes (a webhook, a mail, a manual run) are counted and refused on arrival. */
function isSent({ parsed }: LiveTrigger, row: InboxMessage['row']): boolean {
  return row === undefined || !isPolled(parsed);
}

/** A turn that waits in its session for longer is looked at from time to time, and takes no place of those that run. */
const oldMs = 3_600_000;

/** The turn that a message asks of its session. */
export function orderOf(trigger: LiveTrigger, item: InboxMessage): TurnOrder {
  const { scope, executionId, sessionId, work, attempts, ageMs, row } = item;
  const { parsed } = trigger;
  return {
    scope,
    limits: trigger.limits,
    executionId,
    agentId: work.agentId ?? trigger.agentId,
    sessionId,
    triggerId: trigger.id,
    message: work.message,
    attachments: work.attachments ?? [],
    context: work.context,
    consumerKey: work.consumerKey,
    sharesSession: work.shared ?? false,
    // A session that is not shared stays that of one consumer.
    otherConsumers: work.shared === true ? (work.others ?? []) : [],
    consumerDisplayName: work.displayName,
    channel: channelOf(parsed),
    userId: work.userId,
    keyId: work.keyId,
    invokedBy: item.invokedBy,
    deadlineMs: deadlineOf(
      // Only a sender of requests may choose the longer deadline of async.
      requestsOf(parsed)?.execution.mode ?? 'sync',
      parsed.config.execution.timeout_ms,
      parsed.config.timeout_ms,
    ),
    requestId: work.requestId,
    traceparent: work.traceparent,
    isCounted: isSent(trigger, row),
    // A claimed message has an age: its turn may have begun, also if the attempt before was taken back.
    isRepeat: attempts > 1 || ageMs > 0,
    isOld: ageMs > oldMs,
  };
}
