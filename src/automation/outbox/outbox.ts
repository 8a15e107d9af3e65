import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sleep, type Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Store } from '../../infra/storage/index.js';
import type { PlainTexts } from './replies/plain-texts.js';
import { lastTriggerOf, setDelivery } from '../../conversations/sessions/index.js';
import { findReply } from './reply-routes.store.js';
import { mailPlace, type MessageSealer } from '../messages/message-payload.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import { noteAnswer } from './mail-reply.js';
import { deliveryContent, hasReplyRoute, prepareAnswer } from './delivery-content.js';
import {
  contentOf,
  type DeliveryFilter,
  type DeliveryRow,
  findDelivery,
  insertDelivery,
  listDeliveries,
  type NewDelivery,
  reviveDelivery,
} from './deliveries.store.js';
import { holdMs, type Sender } from './sender.js';

export interface OutboxParts {
  readonly store: Store;
  readonly live: LiveTriggers;
  readonly seal: MessageSealer;
  readonly plainTexts: PlainTexts;
  readonly sender: Sender;
  readonly time: Time;
}

/** A message that a person wrote, sent by the route of the session's last message. */
export interface ManualMessage {
  readonly sessionId: string;
  /** Fixed by the caller; the keys of its chunks start with it. */
  readonly messageId: string;
  readonly text: string;
}

export interface SentMessage {
  readonly deliveredAt: Date;
}

/** How long a repeat waits while another process sends the message. */
const joinMs = 30_000;
const pollEveryMs = 250;

const reply = z.object({
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  reply: z.object({ to: z.string(), from: z.string() }).optional(),
  mail: mailPlace.optional(),
  consumerKey: z.string().optional(),
});

/** Lists and replays deliveries, and sends messages that people write. */
export class Outbox {
  readonly #parts: OutboxParts;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  list(scope: TenantScope, filter: DeliveryFilter): Promise<readonly DeliveryRow[]> {
    return this.#parts.store.inTenant(scope, (tx) => listDeliveries(scope, tx, filter));
  }

  /** Retries a failed delivery from the failed chunk. Undefined if it does not exist. */
  async replay(scope: TenantScope, id: string): Promise<DeliveryRow | undefined> {
    const { store, sender } = this.#parts;
    const row = await store.inTenant(scope, async (tx) => {
      const revived = await reviveDelivery(scope, tx, id);
      if (revived !== null) {
        if (revived.execution_id !== null) await setDelivery(tx, revived.execution_id, 'pending');
        return revived;
      }
      const present = await findDelivery(scope, tx, id);
      if (present === null) return undefined;
      throw new PlatformError('conflict', {
        message: `The delivery is ${present.status}. Only a failed delivery can be sent again.`,
      });
    });
    if (row !== undefined) sender.announce(scope, row.session_id);
    return row;
  }

  /** Whether the message was delivered; a repeat of it then sends nothing. */
  async wasSent(scope: TenantScope, messageId: string): Promise<boolean> {
    const row = await this.#parts.store.inTenant(scope, (tx) => findDelivery(scope, tx, messageId));
    return row?.status === 'delivered';
  }

  /**
   * Sends a person's message by the route of the session's last message, and resolves when the receiver has accepted
   * it. Throws `NO_TRIGGER_HISTORY`, `NO_CALLBACK_CONFIG` or `DELIVERY_FAILED`. Repeating the id sends nothing.
   */
  async sendManual(scope: TenantScope, message: ManualMessage): Promise<SentMessage> {
    const { store, live, seal, plainTexts } = this.#parts;
    const { sessionId, messageId } = message;
    const before = await store.inTenant(scope, (tx) => findDelivery(scope, tx, messageId));
    if (before?.status === 'delivered') {
      await this.#awaitFirst(scope, messageId, message.text);
      return { deliveredAt: before.finished_at ?? before.created_at };
    }
    const { triggerId, way } = await this.#replyRoute(scope, sessionId);
    const trigger = await live.get(triggerId);
    if (trigger === undefined || !hasReplyRoute(trigger.parsed, way)) {
      throw new PlatformError('NO_CALLBACK_CONFIG');
    }
    const { content, truncated } = await prepareAnswer(
      { scope, plainTexts },
      trigger.parsed,
      message.text,
      way,
      true,
    );
    const delivery: NewDelivery = {
      id: messageId,
      sessionId,
      triggerId,
      executionId: null,
      key: messageId,
      inboxSeq: 0,
      chunkTotal: content.chunks.length,
      truncated,
      sealed: seal.seal(scope, { ...content, written: message.text }),
    };
    const isNew = await store.inTenant(scope, async (tx) => {
      await noteAnswer(scope, tx, { triggerId, key: messageId, content });
      return insertDelivery(scope, tx, delivery, holdMs);
    });
    if (!isNew) await this.#awaitFirst(scope, messageId, message.text);
    else await this.#sendOrFail(scope, messageId, 1);
    const sent = await store.inTenant(scope, (tx) => findDelivery(scope, tx, messageId));
    return { deliveredAt: sent?.finished_at ?? new Date(this.#parts.time.wallMs()) };
  }

  /** The reply route of the session's last message. */
  async #replyRoute(
    scope: TenantScope,
    sessionId: string,
  ): Promise<{ readonly triggerId: string; readonly way: z.output<typeof reply> }> {
    const { store, seal } = this.#parts;
    const { last, triggerId } = await store.inTenant(scope, async (tx) => ({
      last: await findReply(scope, tx, sessionId),
      triggerId: await lastTriggerOf(tx, sessionId),
    }));
    if (last !== null) return { triggerId: last.trigger_id, way: seal.open(scope, last.sealed, reply) };
    if (triggerId === null) throw new PlatformError('NO_TRIGGER_HISTORY');
    // No route was stored, since the trigger could not send answers then; it may be able to now.
    return { triggerId, way: { context: {} } };
  }

  /** The message was sent before: return the result of the first, and retry it once if it failed. */
  async #awaitFirst(scope: TenantScope, id: string, text: string): Promise<void> {
    const { store, seal } = this.#parts;
    const before = seal.open(
      scope,
      await store.inTenant(scope, (tx) => contentOf(scope, tx, id)),
      deliveryContent,
    );
    if (before.written !== undefined && before.written !== text) {
      throw new PlatformError('idempotency_key_reused', {
        message:
          'This idempotency key was used before, with another message. Use a new key for a new message.',
      });
    }
    if ((await this.#ended(scope, id)).status === 'delivered') return;
    const revived = await store.inTenant(scope, (tx) => reviveDelivery(scope, tx, id, holdMs));
    if (revived !== null) return this.#sendOrFail(scope, id, revived.chunk);
    // A concurrent repeat was faster.
    return this.#follow(scope, id);
  }

  async #sendOrFail(scope: TenantScope, id: string, fromChunk: number): Promise<void> {
    const sent = await this.#parts.sender.sendNow(scope, id, fromChunk);
    if (sent === 'sent') return;
    if (sent === 'taken') return this.#follow(scope, id);
    throw new PlatformError('DELIVERY_FAILED', { message: sent.failure });
  }

  /** Waits for the result of a message that another process is sending. */
  async #follow(scope: TenantScope, id: string): Promise<void> {
    const { status, last_error: error, last_status: code } = await this.#ended(scope, id);
    if (status === 'delivered') return;
    throw new PlatformError('DELIVERY_FAILED', {
      message: error ?? `The receiver answered with status ${code}.`,
    });
  }

  /** The delivery's row once it has ended. */
  async #ended(scope: TenantScope, id: string): Promise<DeliveryRow> {
    const { store, time } = this.#parts;
    const endsAt = time.monotonicMs() + joinMs;
    for (;;) {
      const row = await store.inTenant(scope, (tx) => findDelivery(scope, tx, id));
      if (row !== null && row.status !== 'pending') return row;
      if (time.monotonicMs() > endsAt)
        throw new PlatformError('service_unavailable', { retryAfterSeconds: 1 });
      await sleep(time, pollEveryMs);
    }
  }
}
