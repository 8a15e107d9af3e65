import { type Timers, withinSignal } from '../../../cluster/index.js';

/** A mail as a transport receives it. */
export interface OutgoingMail {
  /** The permanent id of the mail; a repeat has the same. */
  readonly id: string;
  readonly messageId: string;
  readonly from: string;
  readonly replyTo?: string | undefined;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string | undefined;
  readonly date: Date;
  /** For a reply to a mail: its place in the thread. */
  readonly answers?:
    | { readonly inReplyTo?: string | undefined; readonly references: readonly string[] }
    | undefined;
}

/** How many mails a node sends at once: queued ones, and answers, which take turns by tenant. Each has a connection. */
export const queuedAtOnce = 2;
export const answersAtOnce = { all: 3, each: 2 };

/** The destination of mails: another mail server, or a folder. */
export interface MailTransport {
  /**
   * Resolves once the other side is responsible for the mail; rejects otherwise, with `MailError` for final failures. When
   * the signal is aborted, the attempt ends if it can be ended.
   */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<void>;
  /** Ends what is being sent, too. */
  close(): Promise<void>;
}

/** The reason why a mail was not sent. `final`: the same mail will never be accepted. */
export class MailError extends Error {
  override readonly name = 'MailError';
  readonly final: boolean;

  constructor(message: string, options: { readonly final: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.final = options.final;
  }
}

/**
 * Sends within the time, or rejects: a server that sends a byte now and then keeps every time limit for silence, and would
 * hold the sender for ever. Rejects with the reason of `outer` once that is aborted.
 */
export function sendWithin(
  time: Timers,
  boundMs: number,
  transport: MailTransport,
  mail: OutgoingMail,
  outer?: AbortSignal,
): Promise<void> {
  const late = (): MailError =>
    new MailError(`The mail server did not take the mail within ${Math.round(boundMs) / 1_000} seconds.`, {
      final: false,
    });
  return withinSignal(time, boundMs, outer, late, (signal) => {
    signal.throwIfAborted();
    // Waits for no transport that does not end.
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      transport.send(mail, signal).then(resolve, reject);
    });
  });
}

/** The input for nodemailer, the same for every transport. */
export function messageOf(mail: OutgoingMail) {
  return {
    messageId: mail.messageId,
    from: mail.from,
    // Each field is a single address object: nodemailer reads a string as a list, so a comma could add a recipient.
    ...(mail.replyTo === undefined ? {} : { replyTo: { name: '', address: mail.replyTo } }),
    to: { name: '', address: mail.to },
    subject: mail.subject,
    text: mail.text,
    ...(mail.html === undefined ? {} : { html: mail.html }),
    date: mail.date,
    // Stops automatic replies to this mail (RFC 3834).
    headers: { 'Auto-Submitted': mail.answers === undefined ? 'auto-generated' : 'auto-replied' },
    ...(mail.answers?.inReplyTo === undefined ? {} : { inReplyTo: mail.answers.inReplyTo }),
    ...(mail.answers === undefined ? {} : { references: [...mail.answers.references] }),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
