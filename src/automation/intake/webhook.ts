import { randomUUID } from 'node:crypto';
import type { AgentsSubject } from '../../agents/index.js';
import type { KeyCaller } from '../../kernel/caller.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import { PlatformError } from '../../kernel/errors.js';
import type { RateFigures } from '../../http/operations/index.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { Quota } from '../../tenancy/quota/index.js';
import type { BatchWriter, HotReads, Store } from '../../infra/storage/index.js';
import { acknowledgement } from '../outbox/replies/acknowledgement.js';
import { emptyTwiml, json, type Rendered } from '../outbox/replies/formats.js';
import type { PlainTexts } from '../outbox/replies/plain-texts.js';
import { syncAnswer } from '../outbox/replies/sync-answer.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import { recordRefused } from '../../conversations/sessions/index.js';
import type { Acceptance, AcceptedRow, Fate } from '../inbox/accept-target.js';
import type { Buffers } from '../inbox/buffers.js';
import { findByKey, forgetRefused, putOff } from '../inbox/inbox.store.js';
import { repliesOutOfBand } from '../outbox/delivery-content.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import { holdMs, type InboxRunner } from '../inbox/inbox-runner.js';
import type { MessagePayload, MessageSealer } from '../messages/message-payload.js';
import type { LiveTrigger, LiveTriggers } from '../triggers/live-triggers.js';
import type { TriggerMeasures } from '../messages/measures.js';
import type { TurnPort } from '../triggers/ports.js';
import type { WebhookAuthentication, WebhookRequest } from './authentication.js';
import { type ChannelMessage, messagesOf } from './channels.js';
import { type Admitted, type Incoming, inboxMessage, namesOf, payloadFrom } from './incoming-request.js';
import { memberFinder } from './members.store.js';
import { hashOfPayload, headerKeepMs, type MessageKey, messageKeyOf } from './message-key.js';
import { payloadOf } from './payload.js';
import { portionOf } from './message-portion.js';
import { readMessage, readQuery } from './read-message.js';
import type { RepeatedMessages } from './repeated-messages.js';
import { checkSender } from './sender-access.js';

/** How soon another process checks a turn whose acceptance is unknown. */
const unknownMs = 1_000;

export interface IntakeParts {
  readonly store: Store;
  readonly reads: HotReads;
  readonly live: LiveTriggers;
  readonly agents: Pick<AgentsSubject, 'publishedAgent'>;
  readonly authentication: WebhookAuthentication;
  readonly quota: Pick<Quota, 'admitTenantWork' | 'monthlyRefusal'>;
  readonly turns: Pick<TurnPort, 'tokenRefusal'>;
  readonly gates: SenderBlocks;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly plainTexts: PlainTexts;
  readonly inbox: Pick<BatchWriter<AcceptedRow, Acceptance>, 'write'>;
  readonly runner: Pick<InboxRunner, 'begin' | 'run'>;
  readonly buffers: Pick<Buffers, 'touched' | 'flush' | 'flushOpen'>;
  readonly repeats: RepeatedMessages;
  readonly seal: MessageSealer;
  /** For messages that came without a key. */
  readonly ownKey: () => string;
  readonly measures: Pick<TriggerMeasures, 'accepted' | 'refused' | 'buffered'>;
}

export interface TakenWebhook extends Rendered {
  /** Undefined for requests that are not counted: a repeat, or a notice without a message. */
  readonly figures: RateFigures | undefined;
}

/**
 * Accepts webhook requests. The checks run in the order in which they may refuse: trigger exists, sender, enabled,
 * agent published, repeat, sender blocks, rate. Nothing is acknowledged before the row that will run is committed.
 */
export class WebhookIntake {
  readonly #parts: IntakeParts;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  async take(triggerId: string, request: WebhookRequest): Promise<TakenWebhook> {
    try {
      // Values in memory are not awaited: on this hot path each promise costs as much as a step of the work.
      const found = this.#parts.live.get(triggerId);
      const trigger = found instanceof Promise ? await found : found;
      const admitting = this.#admit(trigger, request);
      const admitted = admitting instanceof Promise ? await admitting : admitting;
      const { status, contentType, body } = await this.#takeAll(admitted);
      return { status, contentType, body, figures: admitted.window.figures };
    } catch (error) {
      this.#parts.measures.refused(error instanceof PlatformError ? error.code : 'internal_error');
      throw error;
    }
  }

  async #takeAll(admitted: Admitted): Promise<Rendered> {
    const { request } = admitted;
    const { channel } = admitted.config;
    const payload = payloadOf(request.headers['content-type'] ?? '', request.body);
    if (channel === undefined) return this.#takeMessage(admitted, payload, undefined);
    const all = messagesOf(channel.type, payload);
    const { messages, more } = await portionOf(this.#parts.store, admitted, all);
    let answer = noMessage(channel.type);
    let unread: PlatformError | undefined;
    // One after the other, to keep the order of messages within a session.
    for (const message of messages) {
      try {
        answer = await this.#takeMessage(admitted, payload, message);
      } catch (error) {
        if (!isNoQuery(error)) throw error;
        // Accept the messages behind it: they can be read, and would otherwise be refused with it each time.
        unread ??= error;
      }
    }
    if (unread !== undefined) throw unread;
    if (!more) return answer;
    throw new PlatformError('service_unavailable', {
      message: 'Only some of the messages were accepted. Send the whole request again to deliver the others.',
      retryAfterSeconds: 1,
    });
  }

  #admit(trigger: LiveTrigger | undefined, request: WebhookRequest): Ready<Admitted> {
    const { authentication, agents } = this.#parts;
    if (trigger?.parsed.type !== 'webhook') {
      throw new PlatformError('not_found', { message: 'The webhook was not found.' });
    }
    const { config } = trigger.parsed;
    return whenReady(authentication.authenticate(trigger, config, request), (sent) => {
      if (!trigger.enabled) throw new PlatformError('trigger_disabled');
      return whenReady(agents.publishedAgent(trigger.scope, trigger.agentId), (agent) => {
        if (agent === undefined) throw new PlatformError('agent_not_found');
        return { trigger, config, request, sentWith: sent?.key, window: { figures: sent?.figures } };
      });
    });
  }

  async #takeMessage(
    admitted: Admitted,
    payload: unknown,
    message: ChannelMessage | undefined,
  ): Promise<Rendered> {
    const { trigger, config, request, sentWith, window } = admitted;
    const key = messageKeyOf(request.headers, message);
    // Only keyed messages are compared on a repeat.
    const hash = key?.strict === true ? hashOfPayload(request.body) : '';
    const repeated = key === undefined ? undefined : await this.#repeated(admitted, key, hash);
    if (repeated !== undefined) return repeated;
    const read = readMessage(trigger.agentId, config, payload, message);
    // An explicit literal: building this object with spreads took a fourteenth of the cost of an accept.
    const incoming: Incoming = {
      trigger,
      config,
      request,
      sentWith,
      window,
      message,
      read,
      key,
      hash,
      executionId: randomUUID(),
      sessionId: read.sessionId ?? randomUUID(),
    };
    const checking = checkSender(
      config.sender_access,
      read.consumerKey,
      memberFinder(this.#parts.store, trigger.scope),
    );
    const sender = checking instanceof Promise ? await checking : checking;
    const denying = this.#parts.gates.isDenied(trigger.scope, read.consumerKey);
    if (!sender.allowed || (denying instanceof Promise ? await denying : denying)) {
      return this.#stopAtGate(incoming, sender.userId);
    }
    // Pictures, locations and reactions are acknowledged to the channel and start no turn.
    if (message !== undefined && config.query_extraction === undefined && message.text.trim() === '') {
      return noMessage(config.channel?.type);
    }
    let query: string;
    try {
      const reading = readQuery(trigger.scope, config, read.sources, this.#parts.expressions);
      query = reading instanceof Promise ? await reading : reading;
    } catch (error) {
      // A sender block answers before the payload is checked; without a message there is nothing to keep.
      if (isNoQuery(error) && (await this.#isTakenOver(incoming))) {
        return this.#stopAtGate(incoming, sender.userId);
      }
      throw error;
    }
    return this.#accept(incoming, payloadFrom(incoming, query, sender.userId));
  }

  async #isTakenOver({ trigger, read }: Incoming): Promise<boolean> {
    return read.sessionId !== undefined && this.#parts.gates.isTakenOver(trigger.scope, read.sessionId);
  }

  async #queryOrNothing({ trigger, config, read }: Incoming): Promise<string> {
    try {
      return await readQuery(trigger.scope, config, read.sources, this.#parts.expressions);
    } catch (error) {
      if (isNoQuery(error)) return '';
      throw error;
    }
  }

  async #accept(incoming: Incoming, work: MessagePayload): Promise<Rendered> {
    const { trigger, config, sessionId } = incoming;
    const checking = whenReady(
      this.#count(incoming, incoming.sentWith),
      (full) => full ?? this.#tokenRefusal(incoming),
    );
    const refusal = checking instanceof Promise ? await checking : checking;
    if (refusal !== undefined) {
      if (await this.#isTakenOver(incoming)) return this.#keepForPeople(incoming, work);
      throw refusal;
    }
    if (config.execution.message_buffer.enabled) return this.#buffer(incoming, work);
    const flushing = this.#parts.buffers.flushOpen(trigger.scope, trigger.id, sessionId);
    if (flushing !== undefined) await flushing;
    return repliesOutOfBand(config) ? this.#acceptToRun(incoming, work) : this.#answerNow(incoming, work);
  }

  /** Async mode: the row is committed first, then the acknowledgement is sent. */
  async #acceptToRun(incoming: Incoming, work: MessagePayload): Promise<Rendered> {
    const { config, executionId } = incoming;
    const accepted = { success: true, execution_id: executionId, status: 'accepted' };
    const answer =
      config.execution.mode === 'async'
        ? acknowledgement(config.execution, () => namesOf(incoming), accepted)
        : json(accepted);
    const { acceptance, row } = await this.#write(incoming, work, 'running', answer);
    if (acceptance.fate !== 'accepted') return this.#notAccepted(acceptance.fate, incoming, work);
    this.#parts.measures.accepted('webhook');
    this.#parts.runner.begin(inboxMessage(incoming, work, { ...row, seq: acceptance.seq }));
    return answer;
  }

  async #buffer(incoming: Incoming, work: MessagePayload): Promise<Rendered> {
    const { trigger, config, sessionId } = incoming;
    const { window_ms: windowMs, max_messages: most } = config.execution.message_buffer;
    const { acceptance, row } = await this.#write(incoming, work, 'buffered', undefined);
    if (acceptance.fate !== 'accepted') return this.#notAccepted(acceptance.fate, incoming, work);
    this.#parts.measures.accepted('webhook');
    this.#parts.measures.buffered();
    const window = { triggerId: trigger.id, sessionId };
    if (acceptance.buffered >= most) this.#parts.buffers.flush(trigger.scope, window, true);
    else this.#parts.buffers.touched(trigger.scope, window, windowMs, row.sealed.byteLength);
    // Messages that arrive together may fill more than one buffer; each reports its position in its own buffer.
    const buffered = ((acceptance.buffered - 1) % most) + 1;
    return acknowledgement(config.execution, () => namesOf(incoming), {
      success: true,
      status: 'buffered',
      buffered,
    });
  }

  async #answerNow(incoming: Incoming, work: MessagePayload): Promise<Rendered> {
    const { trigger } = incoming;
    if (incoming.key === undefined) {
      if (await this.#isTakenOver(incoming)) return this.#keepForPeople(incoming, work);
      return this.#runNow(incoming, inboxMessage(incoming, work, undefined));
    }
    const { acceptance, row } = await this.#write(incoming, work, 'running', undefined);
    if (acceptance.fate !== 'accepted') return this.#notAccepted(acceptance.fate, incoming, work);
    try {
      return await this.#runNow(incoming, inboxMessage(incoming, work, { ...row, seq: acceptance.seq }));
    } catch (error) {
      if (error instanceof PlatformError) {
        const isUnknown = error.code === 'service_unavailable';
        await this.#parts.store.inTenant(trigger.scope, (tx) =>
          // If unknown, the session may run the turn and a repeat waits for it. Otherwise the key may be used again.
          isUnknown ? putOff(trigger.scope, tx, row, unknownMs) : forgetRefused(trigger.scope, tx, row),
        );
      }
      throw error;
    }
  }

  async #runNow(incoming: Incoming, item: InboxMessage): Promise<Rendered> {
    const { trigger, config, executionId } = incoming;
    this.#parts.measures.accepted('webhook');
    const turn = await this.#parts.runner.run(item);
    // People took the session over while the turn ran: do not send the agent's answer.
    if (await this.#isTakenOver(incoming)) return emptyTwiml;
    const way = { scope: trigger.scope, plainTexts: this.#parts.plainTexts };
    return syncAnswer(way, config, { triggerId: trigger.id, agentId: trigger.agentId, executionId }, turn);
  }

  /**
   * Counts in the tenant's window only and is never refused by it: a sender block gives the same answer under any load.
   */
  async #stopAtGate(incoming: Incoming, userId: string | undefined): Promise<Rendered> {
    const { trigger, config, executionId, read } = incoming;
    const { store, measures } = this.#parts;
    measures.refused('gate');
    await this.#count(incoming);
    // Expressions are not evaluated for a refused sender.
    const message = config.query_extraction?.mode === 'jmespath' ? '' : await this.#queryOrNothing(incoming);
    await store.inTenant(trigger.scope, (tx) =>
      recordRefused(tx, {
        id: executionId,
        agentId: trigger.agentId,
        sessionId: read.sessionId ?? null,
        triggerId: trigger.id,
        channel: config.channel?.type ?? 'webhook',
        userId: userId ?? null,
        message,
        status: 'blocked',
        error: null,
      }),
    );
    if (incoming.key !== undefined) {
      await this.#write(incoming, payloadFrom(incoming, '', userId), 'done', emptyTwiml, false);
    }
    return emptyTwiml;
  }

  /** The session records the message for people, without running its agent. The request was counted before. */
  async #keepForPeople(incoming: Incoming, work: MessagePayload): Promise<Rendered> {
    this.#parts.measures.refused('session');
    const { acceptance, row } = await this.#write(incoming, work, 'running', emptyTwiml, false);
    if (acceptance.fate === 'accepted') {
      this.#parts.runner.begin(inboxMessage(incoming, work, { ...row, seq: acceptance.seq }));
    }
    return emptyTwiml;
  }

  /** Counts the request in the tenant's window and against the key. Returns the refusal if either is full. */
  #count({ trigger, window }: Incoming, key?: KeyCaller): Ready<PlatformError | undefined> {
    const counting = this.#parts.quota.admitTenantWork(trigger.scope, trigger.limits, key);
    return whenReady(counting, ({ refusal, figures }) => {
      window.figures ??= figures;
      return refusal;
    });
  }

  /** An asynchronous answer could not report this refusal, so the sender gets it now. */
  #tokenRefusal({ trigger }: Incoming): Ready<PlatformError | undefined> {
    const { quota, turns } = this.#parts;
    return whenReady(quota.monthlyRefusal(trigger.scope, trigger.limits), (usedUp) =>
      usedUp === undefined ? undefined : turns.tokenRefusal(trigger, trigger.agentId),
    );
  }

  async #write(
    incoming: Incoming,
    work: MessagePayload,
    state: AcceptedRow['state'],
    answer: Rendered | undefined,
    asks = incoming.read.sessionId !== undefined,
  ): Promise<{ readonly acceptance: Acceptance; readonly row: AcceptedRow }> {
    const { trigger, key, executionId, sessionId, hash } = incoming;
    const { scope } = trigger;
    const row: AcceptedRow = {
      tenant_id: scope.tenantId,
      trigger_id: trigger.id,
      key: key?.key ?? this.#parts.ownKey(),
      session_id: sessionId,
      execution_id: state === 'buffered' ? null : executionId,
      state,
      asks,
      payload_hash: hash,
      sealed: this.#parts.seal.seal(scope, work),
      answer: answer === undefined ? null : JSON.stringify(answer),
      hold_ms: state === 'buffered' ? incoming.config.execution.message_buffer.window_ms : holdMs,
      keep_ms: key?.keepMs ?? headerKeepMs,
    };
    return { acceptance: await this.#parts.inbox.write(row), row };
  }

  async #repeated(
    { trigger, config }: Admitted,
    key: MessageKey,
    hash: string,
  ): Promise<Rendered | undefined> {
    const { reads, repeats } = this.#parts;
    const row = await findByKey(reads, trigger.scope, trigger.id, key.key);
    return row === undefined ? undefined : repeats.answer(trigger, config, row, key, hash);
  }

  async #notAccepted(
    fate: Exclude<Fate, 'accepted'>,
    incoming: Incoming,
    work: MessagePayload,
  ): Promise<Rendered> {
    if (fate === 'taken over') return this.#keepForPeople(incoming, work);
    // Two requests with one key at once: the other was first.
    const first =
      incoming.key === undefined ? undefined : await this.#repeated(incoming, incoming.key, incoming.hash);
    if (first !== undefined) return first;
    throw new PlatformError('service_unavailable', { retryAfterSeconds: 1 });
  }
}

function isNoQuery(error: unknown): error is PlatformError {
  return error instanceof PlatformError && error.code === 'VALIDATION_ERROR';
}

/** The acknowledgement of a channel's notice that holds no message. */
function noMessage(channel: 'twilio' | 'whatsapp_cloud' | undefined): Rendered {
  return channel === 'twilio' ? emptyTwiml : json({ success: true, status: 'ignored' });
}
