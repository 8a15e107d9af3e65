/** A mail as a transport gets it. */
export interface OutgoingMail {
  /** Names the mail for good; a repeat carries the same. */
  readonly id: string;
  readonly messageId: string;
  readonly from: string;
  readonly replyTo?: string | undefined;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly date: Date;
  /** Of an answer to a mail: its place in the thread. */
  readonly answers?:
    | { readonly inReplyTo?: string | undefined; readonly references: readonly string[] }
    | undefined;
}

/** Where mails go: another mail server, or a folder. */
export interface MailTransport {
  /** Resolves once somebody else is responsible for the mail; else rejects, with `MailError` for what is final. */
  send(mail: OutgoingMail): Promise<void>;
  close(): Promise<void>;
}

/** Why a mail did not go out. `final`: the same mail will never be taken. */
export class MailError extends Error {
  override readonly name = 'MailError';
  readonly final: boolean;

  constructor(message: string, options: { readonly final: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.final = options.final;
  }
}

/** What nodemailer makes a message of, the same for every transport. */
export function messageOf(mail: OutgoingMail) {
  return {
    messageId: mail.messageId,
    from: mail.from,
    // One address each, whatever stands in it: as a text it is read as a list, and a comma would add a recipient.
    ...(mail.replyTo === undefined ? {} : { replyTo: { name: '', address: mail.replyTo } }),
    to: { name: '', address: mail.to },
    subject: mail.subject,
    text: mail.text,
    date: mail.date,
    // Tells automatic answerers to keep quiet (RFC 3834).
    headers: { 'Auto-Submitted': mail.answers === undefined ? 'auto-generated' : 'auto-replied' },
    ...(mail.answers?.inReplyTo === undefined ? {} : { inReplyTo: mail.answers.inReplyTo }),
    ...(mail.answers === undefined ? {} : { references: [...mail.answers.references] }),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
