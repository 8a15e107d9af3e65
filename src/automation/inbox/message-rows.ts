import {
  hasSession,
  recordRefused,
  type RefusedExecution,
  setAnswerCut,
  setDelivery,
} from '../../conversations/sessions/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SenderResponse } from '../messages/sender-response.js';
import { insertDelivery, insertFailed, type NewDelivery } from '../outbox/deliveries.store.js';
import { type NewReplyRoute, rememberReply } from '../outbox/reply-routes.store.js';
import {
  claimLeftBehind,
  type ClaimedRow,
  deleteOld,
  endIfHeld,
  type InboxRow,
  markDone,
  ownMessage,
  type OwnMessage,
  ownPlace,
  releaseOwnClaims,
  renewClaims,
  reschedule,
} from './inbox.store.js';
import { type BufferSplit, splitBuffer, type SplitBuffer } from './split.store.js';

type RowKey = Pick<InboxRow, 'trigger_id' | 'key'>;

/** The end of a message that no session knows. */
export interface RefusedMessage {
  /** Undefined for a message without a promised answer. */
  readonly row: RowKey | undefined;
  /** Undefined if the trigger was deleted. */
  readonly execution: RefusedExecution | undefined;
  /** The failure, for a callback that asks for failures. */
  readonly failure: NewDelivery | undefined;
}

/** The end of a message whose answer the outbox does not take. */
export interface UnsentMessage {
  readonly row: RowKey;
  /** Of the answer; undefined if there is none. */
  readonly delivery: NewDelivery | undefined;
  readonly reason: string;
}

/** What the runner does to the rows of messages: each method is one transaction. */
export interface MessageRows {
  /** Claims rows that no process holds. */
  claimLeftBehind(holdMs: number, rowsMax: number): Promise<readonly ClaimedRow[]>;
  /** Extends the own claims on the messages of these executions. */
  renewClaims(executionIds: readonly string[], holdMs: number): Promise<void>;
  /** Gives up the own claims, except those on messages of these executions. */
  releaseOwnClaims(kept?: readonly string[]): Promise<void>;
  /** Returns how many it deleted. */
  deleteOld(rowsMax: number): Promise<number>;
  /** The position of a message of this execution that this process claims; null if there is none. */
  ownPlace(scope: TenantScope, row: RowKey, executionId: string): Promise<number | null>;
  /** A message of this execution that this process claims; undefined if there is none. */
  ownMessage(
    scope: TenantScope,
    row: RowKey,
    executionId: string,
    inAnyOrder: boolean,
  ): Promise<OwnMessage | undefined>;
  /** Gives the rest of a buffer that this process claims a row of its own; undefined if another process has the buffer. */
  splitBuffer(scope: TenantScope, row: RowKey, split: BufferSplit): Promise<SplitBuffer | undefined>;
  /** Puts off a message whose claim is this process's. */
  reschedule(scope: TenantScope, row: RowKey, pauseMs: number): Promise<void>;
  setAnswerCut(scope: TenantScope, executionId: string): Promise<void>;
  /** Records the end, the reply route to its session and the failure, and marks the message done. */
  end(
    scope: TenantScope,
    message: RefusedMessage & {
      /** With the person of whom the route tells; undefined if it tells of nobody. */
      readonly reply: (NewReplyRoute & { readonly consumerKey: string | undefined }) | undefined;
      readonly kept: SenderResponse | undefined;
    },
  ): Promise<void>;
  /** The same if this process still holds the message. Returns false, and records nothing, if another one does. */
  giveUp(scope: TenantScope, message: RefusedMessage): Promise<boolean>;
  /** Records the delivery as failed and marks the message done, if this process still holds it. */
  endUnsent(scope: TenantScope, message: UnsentMessage): Promise<void>;
  /** Puts one more answer of an execution into the outbox. */
  putDelivery(scope: TenantScope, delivery: NewDelivery): Promise<void>;
}

export function messageRows(store: Store): MessageRows {
  return {
    claimLeftBehind: (holdMs, rowsMax) => store.directory((tx) => claimLeftBehind(tx, holdMs, rowsMax)),
    renewClaims: (executionIds, holdMs) => store.directory((tx) => renewClaims(tx, executionIds, holdMs)),
    releaseOwnClaims: (kept) => store.directory((tx) => releaseOwnClaims(tx, kept)),
    deleteOld: (rowsMax) => store.directory((tx) => deleteOld(tx, rowsMax)),
    ownPlace: (scope, row, executionId) =>
      store.inTenant(scope, (tx) => ownPlace(scope, tx, row, executionId)),
    ownMessage: (scope, row, executionId, inAnyOrder) =>
      store.inTenant(scope, (tx) => ownMessage(scope, tx, row, executionId, inAnyOrder)),
    splitBuffer: (scope, row, split) => store.inTenant(scope, (tx) => splitBuffer(scope, tx, row, split)),
    reschedule: (scope, row, pauseMs) => store.inTenant(scope, (tx) => reschedule(scope, tx, row, pauseMs)),
    setAnswerCut: (scope, executionId) => store.inTenant(scope, (tx) => setAnswerCut(tx, executionId)),
    end: (scope, { row, execution, failure, reply, kept }) =>
      store.inTenant(scope, async (tx) => {
        if (execution !== undefined) await recordRefused(tx, execution);
        // Nobody answers by hand without a session, and in that of somebody else no erasure would find the route.
        if (reply !== undefined && (await hasSession(tx, reply.sessionId, reply.consumerKey)))
          await rememberReply(scope, tx, reply);
        if (failure !== undefined) await insertDelivery(scope, tx, failure);
        if (row !== undefined) await markDone(scope, tx, row, kept);
      }),
    giveUp: (scope, { row, execution, failure }) =>
      store.inTenant(scope, async (tx) => {
        // A process that was frozen must not end a message that its successor runs.
        if (row !== undefined && !(await endIfHeld(scope, tx, row))) return false;
        if (execution !== undefined) await recordRefused(tx, execution);
        if (failure !== undefined) await insertDelivery(scope, tx, failure);
        return true;
      }),
    endUnsent: (scope, { row, delivery, reason }) =>
      store.inTenant(scope, async (tx) => {
        if (!(await endIfHeld(scope, tx, row)) || delivery === undefined) return;
        const isNew = await insertFailed(scope, tx, delivery, reason);
        if (isNew && delivery.executionId !== null)
          await setDelivery(tx, delivery.executionId, 'delivery_failed');
      }),
    putDelivery: (scope, delivery) =>
      store.inTenant(scope, async (tx) => void (await insertDelivery(scope, tx, delivery))),
  };
}
