import type { ClusterConfig } from '../config.js';

/** A queue of the runtime: what waits in memory. The bounds of all are in `docs/protocol/queues.md`. */
export interface QueueBound {
  readonly count: number;
  /** Undefined if its entries hold no bodies of their own. */
  readonly bytes: number | undefined;
}

export type QueueName = keyof ReturnType<typeof queueBounds>;

/** Receives the present length of one queue, for each instance of it. */
export type NoteQueue = (queue: QueueName, count: number, bytes?: number) => void;

/** Frames without bodies that a call may still add to a full queue: a cancel, and credit. */
const shortFrameBytes = 32;
const shortFramesOfCall = 4;
/** Ended messages that a mailbox keeps until it drops them together (`cluster/mailbox/mailbox.ts`). */
const endedMax = 16;
/** Of the caches of addresses and of processes. */
const rememberedMax = 10_000;

export function queueBounds(config: ClusterConfig) {
  const { mailboxCountMax, controlCountMax, streamCountMax, messageBytesMax } = config;
  const { linkCallsMax, timersMax } = config;
  // One body above a bound in bytes is accepted alone; otherwise it could never be handled.
  const laneBytes = Math.max(config.mailboxBytesMax, messageBytesMax);
  const waitingMax = mailboxCountMax + controlCountMax + streamCountMax;
  return {
    actors: bound(config.residentsMax),
    loads: bound(config.activationsMax + config.activationQueueMax),
    mailbox: bound(waitingMax, 2 * laneBytes),
    mailbox_with_ended: bound(2 * waitingMax + endedMax),
    node_mailboxes: bound(config.nodeQueueMax, Math.max(config.nodeQueueBytes, messageBytesMax)),
    running_calls: bound(waitingMax + 1),
    remembered_answers: bound(config.answerMemoryMax + 2 * waitingMax + linkCallsMax),
    joined_repeats: bound(config.repeatsMax),
    actor_writes: bound(config.writeQueueMax),
    write_batches: bound(config.residentsMax),
    held_up_writes: bound(config.residentsMax),
    calls_without_owner: bound(config.nodeQueueMax),
    calls_before_view: bound(config.nodeQueueMax),
    link_calls: bound(
      linkCallsMax,
      config.linkQueueBytes + linkCallsMax * shortFramesOfCall * shortFrameBytes,
    ),
    link_answers: bound(linkCallsMax, 2 * config.linkAnswerBytes),
    incomplete_calls: bound(linkCallsMax, config.linkAssemblyBytes),
    incomplete_answers: bound(linkCallsMax, 2 * config.linkAnswerBytes),
    unread_messages: bound(
      Math.ceil((config.callCreditBytes + messageBytesMax) / shortFrameBytes),
      config.callCreditBytes + messageBytesMax + shortFrameBytes,
    ),
    called_addresses: bound(rememberedMax),
    former_members: bound(rememberedMax),
    recovered_work: bound(config.recoveryBatch),
    repeated_work: bound(config.recoveryBatch),
    timers: bound(timersMax),
    timer_entries: bound(2 * timersMax),
  };
}

function bound(count: number, bytes?: number): QueueBound {
  return { count, bytes };
}
