import { z } from 'zod';

const line = z.string().optional();

/** One line of each header that tells whether a person wrote the mail. */
const mailHeaders = z.object({
  autoSubmitted: line,
  precedence: line,
  listId: line,
  contentType: line,
  /** Empty for `<>`. */
  returnPath: line,
});

/** A mail, as far as triggers read it. What is attached is named and not kept. */
export const parsedMail = z.object({
  /** Its Message-ID without brackets; for a mail without one, its digest. */
  id: z.string(),
  hasMessageId: z.boolean(),
  inReplyTo: z.array(z.string()),
  /** The oldest first. */
  references: z.array(z.string()),
  subject: z.string(),
  /** In lower case; undefined where the mail names no single sender. */
  sender: z.string().optional(),
  senderName: z.string().optional(),
  text: z.string(),
  attachments: z.array(z.string()),
  headers: mailHeaders,
});
export type ParsedMail = Readonly<z.output<typeof parsedMail>>;

/**
 * Whether the mail is of the address in its `From`. `undecided`: name servers did not answer, so the same mail may be
 * told apart later.
 */
export const senderVerdicts = ['unchecked', 'authenticated', 'unauthenticated', 'undecided'] as const;
export type SenderVerdict = (typeof senderVerdicts)[number];

/** What is known of how the mail came, for the check of its sender. */
export type SenderCheck =
  | {
      readonly by: 'smtp';
      readonly ip: string;
      readonly helo: string;
      /** Of the envelope; empty for `<>`. */
      readonly mailFrom: string;
    }
  /** Copied from a mailbox: nothing is known but what the mail itself proves. */
  | { readonly by: 'mailbox' };

/** What the reading process answers for a mail. */
export const readOutcome = z.union([
  z.object({ mail: parsedMail, verdict: z.enum(senderVerdicts) }),
  /** `spent`: the parser gave up in the middle, and what it left behind may fail later. */
  z.object({ unreadable: z.string(), spent: z.boolean() }),
]);
export type ReadOutcome = z.output<typeof readOutcome>;

/** Why a mail cannot be read, in words for the trigger's owner. Reading it again would change nothing. */
export class UnreadableMail extends Error {
  override readonly name = 'UnreadableMail';
}
