import { PlatformError } from '../../kernel/errors.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { RateFigures } from '../../http/operations/index.js';
import type { TriggerMeasures } from '../messages/measures.js';
import type { Rendered } from '../outbox/replies/formats.js';
import { isOpen, type WebhookRequest } from './authentication.js';
import type { BlockedMessages } from './blocked-messages.js';
import type { ChannelMessage } from './channels.js';
import type { Admitted, ArrivedMessage } from './incoming-request.js';
import type { MessageAcceptance } from './message-acceptance.js';
import type { RequestChecks, RequestMessages } from './pipeline/request-checks.js';
import type { StopReason } from './pipeline/stop.js';
import type { WebhookChecks } from './pipeline/webhook-checks.js';
import { answerOf } from './repeated-messages.js';
import type { UncountedRequests } from './uncounted-requests.js';

export interface WebhookIntakeParts {
  readonly checks: WebhookChecks;
  readonly acceptance: Pick<MessageAcceptance, 'accept'>;
  readonly blocked: Pick<BlockedMessages, 'record'>;
  readonly measures: Pick<TriggerMeasures, 'refused'>;
  readonly uncounted: Pick<UncountedRequests, 'noteEnded'>;
}

export interface TakenWebhook extends Rendered {
  /** Undefined for requests that are not counted: a repeat, or a notice without a message. */
  readonly figures: RateFigures | undefined;
}

type CheckedRequest = Admitted & RequestMessages & { readonly payload: unknown };
type RequestVerdict = Awaited<ReturnType<RequestChecks['take']>>;

/** Takes webhook requests: runs the checks on the request and on each message, and accepts what they let pass. */
export class WebhookIntake {
  readonly #parts: WebhookIntakeParts;

  constructor(parts: WebhookIntakeParts) {
    this.#parts = parts;
  }

  async take(triggerId: string, request: WebhookRequest): Promise<TakenWebhook> {
    try {
      const checking = this.#parts.checks.request.take({ triggerId, request });
      return await whenReady(checking, (verdict) => this.#answer(verdict));
    } catch (error) {
      this.#parts.measures.refused(error instanceof PlatformError ? error.code : 'internal_error');
      throw error;
    }
  }

  async #answer({ stopped, known }: RequestVerdict): Promise<TakenWebhook> {
    try {
      const answer = await (stopped === undefined
        ? this.#takeAll(known)
        : this.#answerTo(stopped.stop.reason));
      if (answer instanceof PlatformError) throw answer;
      const { status, contentType, body } = answer;
      return { status, contentType, body, figures: known.window?.figures };
    } finally {
      if (stopped?.at !== 'address') this.#noteUncounted(known);
    }
  }

  /** Only at the end is it known whether the tenant's window counted the request. */
  #noteUncounted({ config, request, window }: Partial<Admitted>): void {
    if (config === undefined || request === undefined || !isOpen(config)) return;
    if (window?.figures === undefined) {
      this.#parts.uncounted.noteEnded(request.address, request.body.byteLength);
    }
  }

  #takeAll(request: CheckedRequest): Ready<Rendered | PlatformError> {
    const { messages, more } = request;
    const [first] = messages;
    return messages.length === 1 && !more ? this.#takeMessage(request, first) : this.#takeEach(request);
  }

  async #takeEach(request: CheckedRequest): Promise<Rendered> {
    let answer: Rendered | undefined;
    let unread: PlatformError | undefined;
    // One after the other, to keep the order of messages within a session.
    for (const message of request.messages) {
      const taken = await this.#takeMessage(request, message);
      // Accept the messages behind an unreadable one: they would otherwise be refused with it each time.
      if (taken instanceof PlatformError) unread ??= taken;
      else answer = taken;
    }
    if (unread !== undefined) throw unread;
    if (answer !== undefined && !request.more) return answer;
    throw new PlatformError('service_unavailable', {
      message: 'Only some of the messages were accepted. Send the whole request again to deliver the others.',
      retryAfterSeconds: 1,
    });
  }

  /** Returns the error of a message that cannot be read. */
  #takeMessage(
    { triggerId, request, trigger, config, sentWith, window, payload }: CheckedRequest,
    message: ChannelMessage | undefined,
  ): Ready<Rendered | PlatformError> {
    const { checks, acceptance } = this.#parts;
    const given: ArrivedMessage = { triggerId, request, trigger, config, sentWith, window, payload, message };
    return whenReady(checks.message.take(given), ({ stopped, known }) => {
      if (stopped === undefined) return acceptance.accept(known);
      const { reason } = stopped.stop;
      return reason.kind === 'unreadable' ? reason.error : this.#answerTo(reason);
    });
  }

  #answerTo(reason: StopReason): Ready<Rendered> {
    switch (reason.kind) {
      case 'refused':
      case 'unreadable':
        throw reason.error;
      case 'ignored':
        return reason.answer;
      case 'repeated':
        return answerOf(reason);
      case 'blocked':
        return this.#parts.blocked.record(reason);
    }
  }
}
