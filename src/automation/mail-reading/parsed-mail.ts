import { z } from 'zod';

const line = z.string().optional();

/** One line of each header that shows whether a person wrote the mail. */
const mailHeaders = z.object({
  autoSubmitted: line,
  precedence: line,
  listId: line,
  contentType: line,
  /** Empty for `<>`. */
  returnPath: line,
});

/** A mail, as far as triggers read it. Attachments are listed and not kept. */
export const parsedMail = z.object({
  /** The Message-ID without brackets; for a mail without one, its digest. */
  id: z.string(),
  hasMessageId: z.boolean(),
  inReplyTo: z.array(z.string()),
  /** The oldest first. */
  references: z.array(z.string()),
  subject: z.string(),
  /** In lower case; undefined if the mail names no single sender. */
  sender: z.string().optional(),
  senderName: z.string().optional(),
  text: z.string(),
  attachments: z.array(z.string()),
  headers: mailHeaders,
});
export type ParsedMail = Readonly<z.output<typeof parsedMail>>;

/**
 * Whether the mail really comes from the address in its `From`. `undecided`: name servers did not answer, so a later
 * try may decide it.
 */
export const senderVerdicts = ['unchecked', 'authenticated', 'unauthenticated', 'undecided'] as const;
export type SenderVerdict = (typeof senderVerdicts)[number];

/** How the mail arrived, for the check of its sender. */
export type SenderCheck =
  | {
      readonly by: 'smtp';
      readonly ip: string;
      readonly helo: string;
      /** The envelope sender; empty for `<>`. */
      readonly mailFrom: string;
    }
  /** Copied from a mailbox: only the mail itself can prove its sender. */
  | { readonly by: 'mailbox' };

/** The response of the reading process for a mail. */
export const readOutcome = z.union([
  z.object({ mail: parsedMail, verdict: z.enum(senderVerdicts) }),
  /** `spent`: the parser gave up midway, and what it left behind may fail later, so the process is not reused. */
  z.object({ unreadable: z.string(), spent: z.boolean() }),
]);
export type ReadOutcome = z.output<typeof readOutcome>;

/** Reading took too long. The mail is at fault, or the machine was too busy to read it: a later try may succeed. */
export class SlowMail extends Error {
  override readonly name = 'SlowMail';
}

/** Why a mail cannot be read, worded for the trigger's owner. Reading it again changes nothing. */
export class UnreadableMail extends Error {
  override readonly name = 'UnreadableMail';
}
