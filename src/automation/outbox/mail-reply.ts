import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { OutgoingMail } from '../../infra/mail/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { DeliveryContent } from './delivery-content.js';
import type { SendingAs } from '../messages/mail-addresses.js';
import { storedMailId } from '../messages/mail-id.js';
import { noteMail } from '../messages/mail-threads.store.js';

export interface Answer {
  /** Fixed with the outbox row: the id of the execution or of the manual message. */
  readonly key: string;
  readonly content: DeliveryContent;
}

/**
 * The mail for an outbox row, identical in every attempt: a recipient who gets it twice, after a crash between sending
 * and recording, recognises it by its Message-ID. Undefined if the message did not arrive by mail.
 */
export function answerMail(
  { key, content }: Answer,
  date: Date,
  { from, replyTo }: SendingAs,
): OutgoingMail | undefined {
  const { reply, mail, chunks } = content;
  if (reply === undefined || mail === undefined) return undefined;
  const { messageId, references, subject } = mail;
  const answered = messageId === undefined ? [] : [messageId];
  return {
    id: key,
    messageId: `<${messageIdOf(key, reply.from)}>`,
    from,
    ...(replyTo === undefined ? {} : { replyTo }),
    to: reply.to,
    subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`.trim(),
    text: chunks.join('\n\n'),
    date,
    answers: {
      ...(messageId === undefined ? {} : { inReplyTo: `<${messageId}>` }),
      references: [...references, ...answered].map((id) => `<${id}>`),
    },
  };
}

/** The note recorded when the answer enters the outbox, so that a mail that replies to it finds the thread. */
export function answerNote({ key, content }: Answer): { messageId: string; thread: string } | undefined {
  const { reply, mail } = content;
  if (reply === undefined || mail === undefined) return undefined;
  return { messageId: storedMailId(messageIdOf(key, reply.from)), thread: mail.thread };
}

/** Must run in the transaction that puts the answer into the outbox. */
export async function noteAnswer(
  scope: TenantScope,
  tx: TenantTransaction,
  { triggerId, ...answer }: Answer & { readonly triggerId: string },
): Promise<void> {
  const note = answerNote(answer);
  if (note !== undefined) await noteMail(scope, tx, { triggerId, ...note });
}

/** Without angle brackets. */
function messageIdOf(key: string, from: string): string {
  return `${key}@${from.slice(from.lastIndexOf('@') + 1)}`;
}
