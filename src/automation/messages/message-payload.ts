import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { attachmentShape } from '../../conversations/attachments/index.js';
import { attachmentsMax } from '../../models/parts/index.js';
import { requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import type { SealedPlace, Sealer } from '../../infra/sealing/index.js';

/** The position of an answer in a mail thread. */
export const mailPlace = z.object({
  /** Undefined if the mail had no Message-ID. */
  messageId: z.string().optional(),
  references: z.array(z.string()),
  subject: z.string(),
  thread: z.string(),
});

export type MailPlace = z.output<typeof mailPlace>;

/** The payload of an accepted message, kept until it has run. */
export const work = z.object({
  /** Empty if the message has only attachments. */
  message: z.string(),
  attachments: z.array(attachmentShape).optional(),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  consumerKey: z.string().optional(),
  /** Several people may write in its session. */
  shared: z.boolean().optional(),
  /** The other senders of a buffer. */
  others: z.array(z.string()).optional(),
  displayName: z.string().optional(),
  userId: z.string().optional(),
  keyId: z.string().optional(),
  requestId: z.string(),
  /** The sender has an acknowledgement instead of the answer. */
  acknowledged: z.boolean().optional(),
  /** The span of the request that brought the message. */
  traceparent: z.string().optional(),
  /** The agent of the session it was accepted for; the trigger may have been moved to another agent since. */
  agentId: z.string().optional(),
  /** Both addresses as the channel writes them, for the answer. */
  reply: z.object({ to: z.string(), from: z.string() }).optional(),
  /** Of a mail. */
  mail: mailPlace.optional(),
});

export type MessagePayload = z.output<typeof work>;

/** Encrypts message payloads, bound to the tenant, so that no row can be moved to another tenant. */
export class MessageSealer {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  seal({ tenantId }: TenantScope, value: unknown): Buffer {
    return this.#sealer.seal(Buffer.from(JSON.stringify(value), 'utf8'), placeOf(tenantId));
  }

  /** The payload that a row runs: its own, or the messages of a buffer in order. */
  openParts(
    scope: TenantScope,
    parts: readonly Uint8Array[],
    parsed: TriggerConfig | undefined,
  ): MessagePayload {
    return merged(this.openEach(scope, parts), parsed);
  }

  openEach(scope: TenantScope, parts: readonly Uint8Array[]): readonly MessagePayload[] {
    return parts.map((sealed) => this.open(scope, sealed, work));
  }

  /** Seals the same value under the current key. */
  anew({ tenantId }: TenantScope, sealed: Uint8Array): Buffer {
    return this.#sealer.seal(this.#sealer.open(sealed, placeOf(tenantId)), placeOf(tenantId));
  }

  open<Value>({ tenantId }: TenantScope, sealed: Uint8Array, shape: z.ZodType<Value>): Value {
    return shape.parse(JSON.parse(this.#sealer.open(sealed, placeOf(tenantId)).toString('utf8')));
  }
}

/** The separator between the messages of a buffer. */
function separatorOf(parsed: TriggerConfig | undefined): string {
  return requestsOf(parsed)?.execution.message_buffer.concat_separator ?? '\n';
}

function placeOf(tenantId: string): SealedPlace {
  return ['trigger message', tenantId];
}

/**
 * Merges the messages of a buffer: joins the texts, keeps the newest attachments, lets later context override earlier, and keeps the last sender's
 * reply address. The texts of several senders are marked with their keys.
 */
export function merged(parts: readonly MessagePayload[], parsed: TriggerConfig | undefined): MessagePayload {
  const last = parts.at(-1);
  if (last === undefined) throw new RangeError('A buffer that is flushed holds a message');
  const senders = new Set(parts.flatMap(({ consumerKey: key }) => (key === undefined ? [] : [key])));
  const isOfSeveral = last.shared === true && senders.size > 1;
  if (last.consumerKey !== undefined) senders.delete(last.consumerKey);
  return {
    ...last,
    ...(senders.size > 0 ? { others: [...senders] } : {}),
    message: parts
      .filter(({ message }) => message !== '')
      .map(({ message, consumerKey: key }) => (isOfSeveral ? `(${key ?? ''}) ${message}` : message))
      .join(separatorOf(parsed)),
    attachments: parts.flatMap(({ attachments = [] }) => attachments).slice(-attachmentsMax),
    context: Object.assign({}, ...parts.map(({ context }) => context)) as MessagePayload['context'],
  };
}
