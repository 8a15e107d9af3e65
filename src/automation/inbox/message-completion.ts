import type { Ids } from '../../kernel/chance.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Ready } from '../../kernel/ready.js';
import type { PlainTexts } from '../outbox/replies/plain-texts.js';
import { StoreError, type StoreFailure } from '../../infra/storage/index.js';
import { failureOf, isSyncAnswerCut, outgoingText, syncAnswer } from '../outbox/replies/sync-answer.js';
import type { TextWay } from '../outbox/replies/transform.js';
import type { TriggerConfig } from '../triggers/types/registry.js';
import {
  type DeliveryContent,
  type TurnFailure,
  failureContent,
  answersInResponse,
  hasMailRoute,
  hasReplyRoute,
  prepareAnswer,
  responseSettings,
} from '../outbox/delivery-content.js';
import type { NewDelivery } from '../outbox/deliveries.store.js';
import type { Sender } from '../outbox/sender.js';
import type { RefusedExecution } from '../../conversations/sessions/index.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import { answerNote } from '../outbox/mail-reply.js';
import type { TurnOutcome } from '../triggers/ports.js';
import type { FinishedAnswer, FinishedRow } from '../outbox/finish-target.js';
import type { SenderResponse } from '../messages/sender-response.js';
import { channelOf, type InboxMessage } from '../messages/inbox-message.js';
import type { MessageSealer } from '../messages/message-payload.js';
import type { MessageRows } from './message-rows.js';

export interface MessageCompletionParts {
  readonly rows: Pick<MessageRows, 'setAnswerCut' | 'end' | 'endUnsent' | 'giveUp' | 'putDelivery'>;
  readonly sender: Pick<Sender, 'finish' | 'announce'>;
  readonly seal: MessageSealer;
  readonly plainTexts: PlainTexts;
  readonly ids: Ids;
  readonly report: (attempted: string, error: unknown) => void;
}

/** How often a message is taken up again that its process did not end. */
export const attemptsMax = 3;

/** Refusals of the row itself: the next attempt to write it is refused too. */
const refusals: ReadonlySet<StoreFailure> = new Set<StoreFailure>([
  'unique',
  'foreign-key',
  'check',
  'not-null',
  'invalid-value',
]);

/** The end of an execution that no session knows. */
export interface UnknownEnd {
  readonly status: 'blocked' | 'failed';
  readonly error: { readonly code: string; readonly message: string } | null;
}

type Reply = Omit<FinishedAnswer, 'mayBegin'>;

/** Ends messages: puts the answer into the outbox and marks the message done in one commit. */
export class MessageCompletion {
  readonly #parts: MessageCompletionParts;

  constructor(parts: MessageCompletionParts) {
    this.#parts = parts;
  }

  /** Ends a message whose turn ran in its session. */
  async finish(item: InboxMessage, trigger: LiveTrigger | undefined, turn: TurnOutcome): Promise<void> {
    try {
      await this.#finish(item, trigger, turn);
    } catch (error) {
      if (item.row === undefined || mayEndLater(item, error)) throw error;
      this.#parts.report('ending a message of a trigger', error);
      await this.#endUnsent(item, item.row, trigger, { turn, reason: unsentReason(error) });
    }
  }

  async #finish(item: InboxMessage, trigger: LiveTrigger | undefined, turn: TurnOutcome): Promise<void> {
    const { scope, row, sessionId, triggerId } = item;
    if (trigger !== undefined && (await isCutForWaiting(this.#way(item), item, trigger.parsed, turn))) {
      await this.#parts.rows.setAnswerCut(scope, item.executionId);
    }
    const hasReply = trigger !== undefined && hasReplyRoute(trigger.parsed, item.work);
    if (row === undefined && !hasReply) return;
    const put = hasReply ? await this.#answer(item, trigger.parsed, turn) : undefined;
    const message: Omit<FinishedRow, 'answer'> = {
      tenant_id: scope.tenantId,
      trigger_id: triggerId,
      session_id: sessionId,
      key: row?.key,
      kept: row === undefined ? undefined : await keptAnswer(this.#way(item), item, trigger, turn),
      reply: hasReply ? this.#sealedReply(item) : undefined,
      mail: put?.mail,
    };
    await this.#parts.sender.finish(scope, message, put?.answer);
  }

  /**
   * Ends a message whose end is refused for good: all later answers of its session wait for it. An answer that it owes
   * becomes a failed delivery with the reason. The answer itself stays with the execution: it may be what is refused.
   */
  async #endUnsent(
    item: InboxMessage,
    row: NonNullable<InboxMessage['row']>,
    trigger: LiveTrigger | undefined,
    { turn, reason }: { readonly turn: TurnOutcome; readonly reason: string },
  ): Promise<void> {
    const { rows, sender } = this.#parts;
    const { scope, executionId: key, sessionId, work } = item;
    const owes =
      trigger !== undefined &&
      hasReplyRoute(trigger.parsed, work) &&
      !isAwaited(item, trigger.parsed) &&
      (outgoingText(turn, receiverOf(trigger.parsed, work)) !== '' ||
        toldFailure(trigger.parsed, turn) !== undefined);
    const content = failureContent({ code: 'internal_error', message: reason }, work);
    const delivery = owes ? this.#forCallback(item, row.seq, { key, content, truncated: false }) : undefined;
    await rows.endUnsent(scope, { row, delivery, reason });
    sender.announce(scope, sessionId);
  }

  /** Ends a message that never reached its session. */
  async endUnknown(
    item: InboxMessage,
    trigger: LiveTrigger,
    end: UnknownEnd,
    turn: TurnOutcome,
  ): Promise<void> {
    const { rows, sender } = this.#parts;
    const { scope, row, sessionId, triggerId } = item;
    const kept = await keptAnswer(this.#way(item), item, trigger, turn);
    const hasReply = hasReplyRoute(trigger.parsed, item.work);
    const consumerKey = item.work.shared === true ? undefined : item.work.consumerKey;
    await rows.end(scope, {
      row,
      execution: refusedExecution(item, trigger, end),
      reply: hasReply ? { sessionId, triggerId, consumerKey, sealed: this.#sealedReply(item) } : undefined,
      failure: this.#failureFor(item, trigger.parsed, end.error),
      kept,
    });
    sender.announce(scope, sessionId);
  }

  /** Records a message that will not be run. */
  async giveUp(
    item: InboxMessage,
    trigger: LiveTrigger | undefined,
    error: UnknownEnd['error'],
  ): Promise<void> {
    const { rows, sender } = this.#parts;
    const failure = trigger && this.#failureFor(item, trigger.parsed, error);
    const hasEnded = await rows.giveUp(item.scope, {
      row: item.row,
      execution: trigger && refusedExecution(item, trigger, { status: 'failed', error }),
      failure,
    });
    if (hasEnded && failure !== undefined) sender.announce(item.scope, item.sessionId);
  }

  /** The failure of a message that ran no turn, for the outbox, where its callback asks for failures. */
  #failureFor(item: InboxMessage, parsed: TriggerConfig, error: TurnFailure | null): NewDelivery | undefined {
    const asks = parsed.config.execution.callback?.send_failures === true;
    if (error === null || item.row === undefined || !asks || isAwaited(item, parsed)) return undefined;
    const content = failureContent(error, item.work);
    const key = hasMailRoute(parsed, item.work) ? besideMail(item.executionId) : item.executionId;
    return this.#forCallback(item, item.row.seq, { key, content, truncated: false });
  }

  /** The answer for the outbox, if there is one. */
  async #answer(
    item: InboxMessage,
    parsed: TriggerConfig,
    turn: TurnOutcome,
  ): Promise<{ readonly answer: Reply; readonly mail: FinishedRow['mail'] } | undefined> {
    const { row, work } = item;
    if (row === undefined || isAwaited(item, parsed)) return undefined;
    const failure = toldFailure(parsed, turn);
    const byMail = hasMailRoute(parsed, work);
    if (byMail && parsed.config.execution.callback !== undefined)
      await this.#callbackBesideMail(item, parsed, turn);
    const text = outgoingText(turn, receiverOf(parsed, work));
    if (failure !== undefined && !byMail)
      return this.#reply(item, row.seq, failureContent(failure, work), false);
    if (text === '') return undefined;
    const { content, truncated } = await prepareAnswer(
      this.#way(item),
      parsed,
      text,
      byMail ? work : { ...work, mail: undefined },
    );
    return this.#reply(item, row.seq, content, truncated);
  }

  /**
   * Puts the answer for the callback into the outbox, before the mail's commit ends the message: a process that dies in
   * between repeats the end, and the row is there already.
   */
  async #callbackBesideMail(item: InboxMessage, parsed: TriggerConfig, turn: TurnOutcome): Promise<void> {
    const { scope, row, sessionId, work } = item;
    const failure = toldFailure(parsed, turn);
    const text = outgoingText(turn, 'callback');
    if (row === undefined || (failure === undefined && text === '')) return;
    const { content, truncated } =
      failure === undefined
        ? await prepareAnswer(this.#way(item), parsed, text, { ...work, mail: undefined })
        : { content: failureContent(failure, work), truncated: false };
    const key = besideMail(item.executionId);
    await this.#parts.rows.putDelivery(scope, this.#forCallback(item, row.seq, { key, content, truncated }));
    this.#parts.sender.announce(scope, sessionId);
  }

  #forCallback(
    { scope, executionId, sessionId, triggerId }: InboxMessage,
    inboxSeq: number,
    {
      key,
      content,
      truncated,
    }: { readonly key: string; readonly content: DeliveryContent; readonly truncated: boolean },
  ): NewDelivery {
    return {
      id: this.#parts.ids.uuid(),
      sessionId,
      triggerId,
      executionId,
      key,
      inboxSeq,
      chunkTotal: content.chunks.length,
      truncated,
      sealed: this.#parts.seal.seal(scope, content),
    };
  }

  #reply(
    { scope, executionId }: InboxMessage,
    place: number,
    content: DeliveryContent,
    truncated: boolean,
  ): { readonly answer: Reply; readonly mail: FinishedRow['mail'] } {
    const answer = {
      id: this.#parts.ids.uuid(),
      executionId,
      place,
      chunkTotal: content.chunks.length,
      truncated,
      sealed: this.#parts.seal.seal(scope, content),
    };
    return { answer, mail: answerNote({ key: executionId, content }) };
  }

  #way({ scope }: InboxMessage): TextWay {
    return { scope, plainTexts: this.#parts.plainTexts };
  }

  #sealedReply({ scope, work }: InboxMessage): Buffer {
    const { context, reply, mail, consumerKey, shared } = work;
    // What a person writes in a thread is for all in it, and nothing of the last sender is kept with the thread.
    if (shared === true) return this.#parts.seal.seal(scope, { context: {}, reply });
    return this.#parts.seal.seal(scope, { context, reply, mail, consumerKey });
  }
}

/** Whether the caller waits for the answer and receives it shortened. */
function isCutForWaiting(
  way: TextWay,
  item: InboxMessage,
  parsed: TriggerConfig,
  turn: TurnOutcome,
): Ready<boolean> {
  if (item.row !== undefined && !isAwaited(item, parsed)) return false;
  return isSyncAnswerCut(way, responseSettings(parsed), turn);
}

function refusedExecution(
  item: InboxMessage,
  { agentId, parsed }: LiveTrigger,
  { status, error }: UnknownEnd,
): RefusedExecution {
  return {
    id: item.executionId,
    agentId,
    sessionId: item.sessionId,
    triggerId: item.triggerId,
    channel: channelOf(parsed),
    userId: item.work.userId ?? null,
    consumerKey: item.work.consumerKey,
    otherConsumers: item.work.others ?? [],
    message: item.work.message,
    status,
    error,
  };
}

/** The mail's answer has the key of the execution itself. */
function besideMail(executionId: string): string {
  return `${executionId}/callback`;
}

/** The response to a waiting caller, kept for repeats of the message. */
function keptAnswer(
  way: TextWay,
  item: InboxMessage,
  trigger: LiveTrigger | undefined,
  turn: TurnOutcome,
): Ready<SenderResponse | undefined> {
  if (trigger === undefined || !isAwaited(item, trigger.parsed)) return undefined;
  const { triggerId, executionId } = item;
  return syncAnswer(
    way,
    responseSettings(trigger.parsed),
    { triggerId, agentId: trigger.agentId, executionId },
    turn,
  );
}

function mayEndLater({ attempts }: InboxMessage, error: unknown): boolean {
  if (error instanceof PlatformError) return true;
  if (!(error instanceof StoreError)) return attempts <= attemptsMax;
  if (error.retryable || error.failure === 'outcome-unknown') return true;
  return !refusals.has(error.failure) && attempts <= attemptsMax;
}

/** The error itself may describe the operator's store: it goes to the log. */
function unsentReason(error: unknown): string {
  const failure = error instanceof StoreError ? error.failure : 'internal error';
  return `The answer could not be put into the outbox (${failure}). Its execution has it. Report it to the operator.`;
}

/** Who gets the answer of a trigger: its callback takes the place of a channel, and stands beside a mail. */
function receiverOf(parsed: TriggerConfig, work: InboxMessage['work']): 'callback' | 'sender' {
  const isForCallback = parsed.config.execution.callback !== undefined && !hasMailRoute(parsed, work);
  return isForCallback ? 'callback' : 'sender';
}

/** The failure of the turn, if the callback asks for failures. */
function toldFailure(parsed: TriggerConfig, turn: TurnOutcome): TurnFailure | undefined {
  return parsed.config.execution.callback?.send_failures === true ? failureOf(turn) : undefined;
}

/** Whether the answer belongs into the response. A trigger may have become synchronous since the acknowledgement. */
function isAwaited({ work }: InboxMessage, parsed: TriggerConfig): boolean {
  return work.acknowledged !== true && answersInResponse(parsed);
}
