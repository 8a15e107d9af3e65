import { ageMs, type Instant, type Time } from '../../../cluster/index.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Egress, EgressError, type OutboundRequest } from '../../infra/egress/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { TaskLimiter } from '../../kernel/task-limiter.js';
import { answersAtOnce, type Mail, MailError } from '../../infra/mail/index.js';
import type { ChangeFeed } from '../../infra/storage/index.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { MessageSealer } from '../messages/message-payload.js';
import { type LiveTrigger, validSecrets } from '../triggers/live-triggers.js';
import type { MailAddresses } from '../messages/mail-addresses.js';
import type { EmailConfig } from '../triggers/config/email-config.js';
import { mailOf, requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import { answerMail } from './mail-reply.js';
import { deliveryContent, type DeliveryContent } from './delivery-content.js';
import type { ClaimedDelivery } from './deliveries.store.js';
import { outgoingRequest, type OutgoingParts, type SignedRequest, Unsendable } from './outgoing-request.js';
import type { AttemptResult } from './retry.js';

/** The time of one attempt, from name lookup to the last byte. */
export const attemptMs = 15_000;
const noReplyRoute = 'The trigger has no way to send answers.';

type SendingTrigger = Pick<LiveTrigger, 'id' | 'scope' | 'parsed' | 'secrets' | 'formerSecretUntilMs'>;

export interface AttemptParts extends OutgoingParts {
  readonly live: { get(id: string): Ready<SendingTrigger | undefined> };
  readonly seal: MessageSealer;
  readonly senderBlocks: Pick<SenderBlocks, 'closedFor'>;
  readonly feed: Pick<ChangeFeed, 'subscribe'>;
  /** Topics of changes that may block a sender; each change names its tenant. */
  readonly blockTopics: readonly string[];
  /** For destinations that tenants choose, and for those that the operator configured. */
  readonly egress: Pick<Egress, 'fetchGuarded'>;
  readonly operatorEgress: Pick<Egress, 'fetchGuarded'>;
  /** For answers to mails. */
  readonly mail: Pick<Mail, 'send'>;
  readonly addresses: Pick<MailAddresses, 'sendingAs' | 'requireSender'>;
  readonly time: Time;
  /** Whether this process may start an outside effect right now. */
  readonly mayAct: () => boolean;
  readonly report: (attempted: string, error: unknown) => void;
}

/**
 * The attempt was not made: the process may no longer act, or its claim is so old that another process may send. Whoever
 * has the row sends it.
 */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost';

  constructor() {
    super('The claim on the delivery is no longer certain.');
  }
}

/** The attempt was not made: as many mails as may be are being sent. */
export class NoPlace extends Error {
  override readonly name = 'NoPlace';

  constructor() {
    super('No further mail may be sent now.');
  }
}

interface Bounds {
  readonly signal: AbortSignal;
  /** Until a handoff is answered. */
  readonly leftMs: () => number;
  readonly mayBegin: () => boolean;
}

/** The result of an attempt, and the configured delay before the next chunk. */
export type Attempted = AttemptResult & { readonly delayMs: number };

interface RunningAttempt {
  readonly scope: TenantScope;
  readonly parsed: TriggerConfig;
  readonly sessionId: string;
  readonly consumerKey: string | undefined;
  readonly stop: AbortController;
}

/**
 * Makes one attempt to send one chunk. The sender blocks are checked before it, and again whenever one of them may have
 * changed during it: then the attempt is aborted, so that no agent output follows the answer to a handoff.
 */
export class Attempts {
  readonly #parts: AttemptParts;
  readonly #running = new Set<RunningAttempt>();
  /** By tenant: a tenant with many mails delays only its own. */
  readonly #mailPlaces = new TaskLimiter(answersAtOnce);
  readonly #unsubscribe: readonly (() => void)[];

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.blockTopics.map((topic) =>
      parts.feed.subscribe(topic, {
        onChange: ({ tenantId }) => this.#recheckBlocks(tenantId),
        onDropEverything: () => this.#recheckBlocks(null),
      }),
    );
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Runs `work` once it has a place to send a mail; it makes its attempt with `hasPlace`. */
  withMailPlace<Result>({ tenantId }: TenantScope, work: () => Promise<Result>): Promise<Result> {
    return this.#mailPlaces.run(tenantId, work);
  }

  /**
   * Rejects with `ClaimLost` or `NoPlace`, or if the outcome is unknown. `claimed`: a moment before the claim; the attempt
   * ends `attemptMs` later, since a handoff is answered then. So it does not wait for a place.
   */
  async make(
    scope: TenantScope,
    delivery: ClaimedDelivery,
    claimed: Instant,
    hasPlace = false,
  ): Promise<Attempted> {
    const { mayAct, time } = this.#parts;
    const mayBegin = (): boolean => mayAct() && ageMs(time, claimed) < attemptMs;
    const leftMs = (): number => Math.max(1, attemptMs - ageMs(time, claimed));
    try {
      const trigger = await this.#parts.live.get(delivery.trigger_id);
      if (trigger === undefined) throw new Unsendable('The trigger was deleted.');
      const content = this.#parts.seal.open(scope, delivery.sealed, deliveryContent);
      const { parsed } = trigger;
      const { execution } = parsed.config;
      if (content.error !== undefined && execution.callback === undefined)
        throw new Unsendable(content.error.message);
      const mail = mailOf(parsed);
      if (mail !== undefined && (content.mail !== undefined || execution.callback === undefined)) {
        if (!hasPlace && !this.#mailPlaces.hasPlace(scope.tenantId)) throw new NoPlace();
        const send = (signal: AbortSignal) =>
          this.#mail(delivery, { trigger, config: mail }, content, { signal, leftMs, mayBegin });
        const make = () => this.#whileOpen(trigger, delivery, content, send);
        const result = await (hasPlace ? make() : this.withMailPlace(scope, make));
        return { ...result, delayMs: 0 };
      }
      const channel = requestsOf(parsed)?.channel;
      const nowMs = this.#parts.time.wallMs();
      const send = async (signal: AbortSignal): Promise<AttemptResult> => {
        const request = await outgoingRequest(this.#parts, {
          scope,
          config: { execution, channel },
          secrets: validSecrets(trigger, nowMs),
          content,
          key: `${delivery.execution_id ?? delivery.key}:${delivery.chunk}`,
          now: new Date(nowMs),
          names: {
            agent_response: content.chunks[delivery.chunk - 1] ?? '',
            session_id: delivery.session_id,
            execution_id: delivery.execution_id ?? delivery.key,
            trigger_id: delivery.trigger_id,
            chunk_index: delivery.chunk,
            chunk_total: delivery.chunk_total,
          },
        });
        return this.#fetchOnce(request, { signal, timeoutMs: leftMs(), mayBegin, share: scope.tenantId });
      };
      const result = await this.#whileOpen(trigger, delivery, content, send);
      return { ...result, delayMs: execution.split_config.inter_chunk_delay_ms };
    } catch (error) {
      if (!mayBegin() && isUnsent(error)) throw new ClaimLost();
      return { ...failureOf(error), delayMs: 0 };
    }
  }

  async #whileOpen(
    { scope, parsed }: SendingTrigger,
    { session_id: sessionId }: ClaimedDelivery,
    { manual, consumerKey, error: failure }: DeliveryContent,
    send: (signal: AbortSignal) => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    const running: RunningAttempt = { scope, parsed, sessionId, consumerKey, stop: new AbortController() };
    // A failure tells the callback of its owner why there is no answer, which often is the block itself.
    if (manual || failure !== undefined) return send(running.stop.signal);
    // Registered before the check, so that a block set from now on is noticed.
    this.#running.add(running);
    try {
      const closed = await this.#parts.senderBlocks.closedFor(scope, parsed, consumerKey, sessionId);
      if (closed !== undefined) throw new Unsendable(`Not sent: ${closed}.`);
      return await send(running.stop.signal);
    } catch (error) {
      throw running.stop.signal.aborted ? running.stop.signal.reason : error;
    } finally {
      this.#running.delete(running);
    }
  }

  /** `tenantId` null: all tenants. */
  #recheckBlocks(tenantId: string | null): void {
    for (const running of this.#running) {
      const { scope, parsed, consumerKey, sessionId, stop } = running;
      if (tenantId !== null && tenantId !== scope.tenantId) continue;
      this.#parts.senderBlocks.closedFor(scope, parsed, consumerKey, sessionId).then(
        (closed) => closed !== undefined && stop.abort(new Unsendable(`Broken off: ${closed}.`)),
        (error: unknown) => this.#parts.report('reading sender blocks for a running delivery', error),
      );
    }
  }

  /** The mail server's own error text goes to the operator's log only: it describes the operator's network. */
  async #mail(
    delivery: ClaimedDelivery,
    { trigger, config }: { readonly trigger: SendingTrigger; readonly config: EmailConfig },
    content: DeliveryContent,
    { signal, leftMs, mayBegin }: Bounds,
  ): Promise<AttemptResult> {
    const { mail, addresses, report } = this.#parts;
    if (content.reply === undefined) throw new Unsendable(noReplyRoute);
    await addresses.requireSender(trigger.scope).catch((cause: unknown) => {
      const refused = cause instanceof PlatformError && cause.code === 'email_unverified';
      throw refused ? new Unsendable(`Not sent: ${cause.message}`) : cause;
    });
    // Computed at send time: a domain may have been given up since the answer was written.
    const sendingAs = await addresses.sendingAs(trigger, config, content.reply.from);
    const answer = answerMail({ key: delivery.key, content }, delivery.created_at, sendingAs);
    if (answer === undefined) throw new Unsendable(noReplyRoute);
    if (!mayBegin()) throw new ClaimLost();
    try {
      await mail.send(answer, leftMs(), signal);
      return { kind: 'answered', status: 250, retryAfter: undefined };
    } catch (error) {
      signal.throwIfAborted();
      report('sending an answer by mail', error);
      const final = error instanceof MailError && error.final;
      return { kind: 'failed', error: 'The mail server did not take the mail.', final };
    }
  }

  async #fetchOnce(
    { url, method, headers, body, ours, faultIn, hint }: SignedRequest,
    limits: Pick<OutboundRequest, 'signal' | 'timeoutMs' | 'mayBegin' | 'share'>,
  ): Promise<AttemptResult> {
    const { egress, operatorEgress } = this.#parts;
    const answer = await (ours ? operatorEgress : egress).fetchGuarded({
      url,
      method,
      headers,
      body,
      ...limits,
      // A body that stalls or breaks would have an answer sent again that was taken.
      readsBody: (status) => status === 200 && faultIn !== undefined,
      bodyBytesMax: 64 * 1024,
      oversize: 'cut',
      // A redirect is reported to the trigger's owner; following it would send the signature elsewhere.
      redirectsMax: 0,
    });
    const fault = answer.status === 200 ? faultIn?.(Buffer.from(answer.body).toString()) : undefined;
    const retryAfter = answer.headers['retry-after'];
    if (fault !== undefined) return { kind: 'failed', ...fault, retryAfter };
    return { kind: 'answered', status: answer.status, retryAfter, hint };
  }
}

/** Nothing was sent, so that another process may send it without a repetition. */
function isUnsent(error: unknown): boolean {
  return error instanceof ClaimLost || (error instanceof EgressError && error.neverSent);
}

function failureOf(error: unknown): AttemptResult {
  if (error instanceof Unsendable) return { kind: 'failed', error: error.message, final: true };
  if (error instanceof EgressError || error instanceof PlatformError) {
    return { kind: 'failed', error: error.message, final: error.retry === 'never' };
  }
  throw error;
}
