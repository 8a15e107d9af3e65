import { PlatformError } from '../../kernel/errors.js';
import type { Store } from '../../infra/storage/index.js';
import type { AcceptedRow, Fate } from '../inbox/accept-target.js';
import type { Buffers } from '../inbox/buffers.js';
import { deleteRefused, reschedule } from '../inbox/inbox.store.js';
import type { InboxRunner } from '../inbox/inbox-runner.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessagePayload } from '../messages/message-payload.js';
import type { TriggerMeasures } from '../messages/measures.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { TurnPort } from '../triggers/ports.js';
import { repliesOutOfBand } from '../outbox/delivery-content.js';
import { acknowledgement } from '../outbox/replies/acknowledgement.js';
import { emptyTwiml, json, type Rendered } from '../outbox/replies/formats.js';
import type { PlainTexts } from '../outbox/replies/plain-texts.js';
import { syncAnswer } from '../outbox/replies/sync-answer.js';
import type { BlockedMessages } from './blocked-messages.js';
import { type CheckedMessage, inboxMessage, namesOf, payloadFrom } from './incoming-request.js';
import { type InboxRows, placeOf, type WrittenRow } from './inbox-rows.js';
import { answerOf, type RepeatedMessages } from './repeated-messages.js';

/** How soon another process checks a turn whose acceptance is unknown. */
const unknownMs = 1_000;

export interface MessageAcceptanceParts {
  readonly store: Pick<Store, 'inTenant'>;
  readonly rows: Pick<InboxRows, 'write'>;
  readonly buffers: Pick<Buffers, 'touched' | 'flush' | 'flushOpen'>;
  readonly runner: Pick<InboxRunner, 'begin' | 'beginIfAccepted' | 'run'>;
  readonly senderBlocks: Pick<SenderBlocks, 'isTakenOver'>;
  readonly repeats: Pick<RepeatedMessages, 'answer'>;
  readonly blocked: Pick<BlockedMessages, 'keepForPeople'>;
  readonly plainTexts: PlainTexts;
  readonly turns: Pick<TurnPort, 'keepAttachments' | 'dropAttachments'>;
  readonly measures: Pick<TriggerMeasures, 'accepted' | 'buffered'>;
}

/**
 * Accepts checked messages. Nothing is acknowledged before the row that will run is committed. The commit also answers
 * what may have changed since the checks: whether people have taken the session over, and whether the message is new.
 */
export class MessageAcceptance {
  readonly #parts: MessageAcceptanceParts;

  constructor(parts: MessageAcceptanceParts) {
    this.#parts = parts;
  }

  async accept(message: CheckedMessage): Promise<Rendered> {
    if (message.given.length === 0) return this.#accept(message);
    const { turns } = this.#parts;
    const { trigger, sessionId, given, sentWith } = message;
    const { scope, limits, agentId } = trigger;
    const order = { scope, limits, agentId, sessionId, given, keyId: sentWith?.keyId };
    const attachments = await turns.keepAttachments(order);
    try {
      return await this.#accept({ ...message, attachments });
    } catch (error) {
      // Any other failure may have accepted the message.
      if (error instanceof PlatformError && error.retry === 'never')
        await turns.dropAttachments(scope, attachments);
      throw error;
    }
  }

  #accept(message: CheckedMessage): Promise<Rendered> {
    const { trigger, config, sessionId } = message;
    if (config.execution.message_buffer.enabled) return this.#buffer(message);
    const run = (): Promise<Rendered> =>
      repliesOutOfBand(config) ? this.#acceptToRun(message) : this.#answerNow(message);
    return this.#parts.buffers.flushOpen(trigger.scope, trigger.id, sessionId)?.then(run) ?? run();
  }

  /** Async mode: the row is committed first, then the acknowledgement is sent. */
  async #acceptToRun(message: CheckedMessage): Promise<Rendered> {
    const { config, executionId } = message;
    const accepted = { success: true, execution_id: executionId, status: 'accepted' };
    const answer =
      config.execution.mode === 'async'
        ? acknowledgement(config.execution, () => namesOf(message), accepted)
        : json(accepted);
    const work: MessagePayload = { ...payloadFrom(message), acknowledged: true };
    const { acceptance, row } = await this.#write(message, work, 'running', answer);
    if (acceptance.fate !== 'accepted') return this.#notAccepted(acceptance.fate, message);
    this.#parts.measures.accepted('webhook');
    this.#parts.runner.begin(inboxMessage(message, work, placeOf(row, acceptance)));
    return answer;
  }

  async #buffer(message: CheckedMessage): Promise<Rendered> {
    const { trigger, config, sessionId } = message;
    const { buffers, measures } = this.#parts;
    const { window_ms: windowMs, max_messages: most } = config.execution.message_buffer;
    const work: MessagePayload = { ...payloadFrom(message), acknowledged: true };
    const { acceptance, row } = await this.#write(message, work, 'buffered', undefined);
    if (acceptance.fate !== 'accepted') return this.#notAccepted(acceptance.fate, message);
    measures.accepted('webhook');
    measures.buffered();
    const window = { triggerId: trigger.id, sessionId };
    if (acceptance.buffered >= most) buffers.flush(trigger.scope, window, true);
    else buffers.touched(trigger.scope, window, windowMs, row.sealed.byteLength);
    // Messages that arrive together may fill more than one buffer; each reports its position in its own buffer.
    const buffered = ((acceptance.buffered - 1) % most) + 1;
    return acknowledgement(config.execution, () => namesOf(message), {
      success: true,
      status: 'buffered',
      buffered,
    });
  }

  async #answerNow(message: CheckedMessage): Promise<Rendered> {
    const work = payloadFrom(message);
    if (message.key === undefined) {
      // Without a key nothing is committed, so no commit notices that people took the session over.
      if (await this.#isTakenOver(message)) return this.#parts.blocked.keepForPeople(message);
      return this.#runNow(message, inboxMessage(message, work, undefined));
    }
    const { acceptance, row } = await this.#write(message, work, 'running', undefined);
    if (acceptance.fate !== 'accepted') return this.#notAccepted(acceptance.fate, message);
    try {
      return await this.#runNow(message, inboxMessage(message, work, placeOf(row, acceptance)));
    } catch (error) {
      if (error instanceof PlatformError) await this.#afterRefusal(message, row, error);
      throw error;
    }
  }

  /** If unknown, the session may run the turn and a repeat waits for it. Otherwise the key may be used again. */
  async #afterRefusal(
    { trigger: { scope } }: CheckedMessage,
    row: AcceptedRow,
    error: PlatformError,
  ): Promise<void> {
    const isUnknown = error.code === 'service_unavailable';
    await this.#parts.store.inTenant(scope, (tx) =>
      isUnknown ? reschedule(scope, tx, row, unknownMs) : deleteRefused(scope, tx, row),
    );
  }

  async #runNow(message: CheckedMessage, item: InboxMessage): Promise<Rendered> {
    const { trigger, config, executionId } = message;
    this.#parts.measures.accepted('webhook');
    const turn = await this.#parts.runner.run(item);
    // People took the session over while the turn ran: do not send the agent's answer.
    if (await this.#isTakenOver(message)) return emptyTwiml;
    const way = { scope: trigger.scope, plainTexts: this.#parts.plainTexts };
    return syncAnswer(way, config, { triggerId: trigger.id, agentId: trigger.agentId, executionId }, turn);
  }

  async #isTakenOver({ trigger, derivedSession }: CheckedMessage): Promise<boolean> {
    return (
      derivedSession !== undefined && this.#parts.senderBlocks.isTakenOver(trigger.scope, derivedSession)
    );
  }

  #write(
    message: CheckedMessage,
    work: ReturnType<typeof payloadFrom>,
    state: AcceptedRow['state'],
    answer: Rendered | undefined,
  ): Promise<WrittenRow> {
    return this.#parts.rows.write(message, work, {
      state,
      answer,
      asks: message.derivedSession !== undefined,
    });
  }

  async #notAccepted(fate: Exclude<Fate, 'accepted'>, message: CheckedMessage): Promise<Rendered> {
    if (fate === 'taken over') return this.#parts.blocked.keepForPeople(message);
    const { attachments = [], trigger } = message;
    if (attachments.length > 0) await this.#parts.turns.dropAttachments(trigger.scope, attachments);
    // Two requests with one key at once: the other was first.
    const { key } = message;
    const first = key === undefined ? undefined : await this.#parts.repeats.answer(message, key);
    if (first !== undefined) return answerOf(first);
    throw new PlatformError('service_unavailable', { retryAfterSeconds: 1 });
  }
}
