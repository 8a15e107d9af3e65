import { createHash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { MailReader } from '../mail-reading/mail-reader.js';
import { UnreadableMail } from '../mail-reading/parsed-mail.js';
import { mailboxOf } from '../messages/mail-addresses.js';
import { MailboxError, withinBudget } from './mailbox-budget.js';
import { mailsAfter, mailsSince, type NewMails, searchingIn } from './mailbox-search.js';
import type { JudgedMail, MailIntake, MailTrigger } from './mail-intake.js';
import { mailBytesMax } from './mail-limits.js';

const mailsMax = 20;
/** Of mails that one look fetches; a look that has fetched so much leaves the rest to the next, which comes at once. */
const fetchedBytesMax = 2 * mailBytesMax;
/** Of all that the server sends in one look: the mails, one more, and what stands around them. */
const lookBytesMax = fetchedBytesMax + 2 * mailBytesMax;
/**
 * The server's share of one look. Reading a mail is not part of it: a mail that takes long to read would end every look
 * at the same place, and stop the mailbox for ever.
 */
const serverMs = 16_000;
/** After so long a look takes no further mail, so that what it has is committed in time. */
const takingMs = 8_000;
/** The numbers of `windowsMax` windows are more than any server has; an answer of one window is 40 KB. */
const searchBytesMax = 4 * 1024 * 1024;
const dayMs = 86_400_000;
/** Servers tell the time of arrival in seconds, by clocks of their own. */
const clockSlackMs = 5_000;

export const mailboxState = z.object({
  /** Whose mailbox was looked into; another begins anew. */
  about: z.string().optional(),
  /** Numbers of mails mean something under this mark alone. */
  validity: z.string().optional(),
  last_uid: z.number().optional(),
  /** What arrived before is no news, whatever its number. */
  began_ms: z.number().optional(),
  looked_ms: z.number().optional(),
});
export type MailboxState = z.output<typeof mailboxState>;

export interface FoundMails {
  /** What was looked at. */
  readonly seen: readonly number[];
  readonly judged: readonly JudgedMail[];
  readonly state: MailboxState;
  readonly more: boolean;
}

export interface MailboxLookParts {
  readonly intake: Pick<MailIntake, 'judge' | 'unreadable'>;
  readonly reader: Pick<MailReader, 'read'>;
  /** Whether mails must prove who sent them. */
  readonly checksSenders: boolean;
  readonly time: Time;
}

/** One look into an open mailbox: which mails are news, and what becomes of each. */
export class MailboxLook {
  readonly #parts: MailboxLookParts;
  readonly #found: MailTrigger;
  readonly #client: ImapFlow;
  #serverMsLeft = serverMs;

  constructor(parts: MailboxLookParts, found: MailTrigger, client: ImapFlow) {
    this.#parts = parts;
    this.#found = found;
    this.#client = client;
  }

  /** A mail that cannot be read is one that was looked at: those behind it have their turn. */
  take(before: MailboxState, nowMs: number): Promise<FoundMails> {
    // Readings bound themselves, and the server's time is counted where it is asked.
    const budget = { ms: Infinity, bytes: lookBytesMax };
    return withinBudget(this.#client, this.#parts.time, budget, () => this.#take(before, nowMs));
  }

  /** Asks the server, within the time that is left of its share. */
  async #ask<Result>(work: () => Promise<Result>, bytes = lookBytesMax): Promise<Result> {
    const { time } = this.#parts;
    const askedAtMs = time.monotonicMs();
    const budget = { ms: Math.max(0, this.#serverMsLeft), bytes };
    try {
      return await withinBudget(this.#client, time, budget, work);
    } finally {
      this.#serverMsLeft -= time.monotonicMs() - askedAtMs;
    }
  }

  async #take(before: MailboxState, nowMs: number): Promise<FoundMails> {
    const { time } = this.#parts;
    const { mailbox } = this.#client;
    if (mailbox === false) throw new MailboxError('The mailbox is not open.');
    const validity = String(mailbox.uidValidity);
    const beganMs = before.began_ms ?? nowMs;
    const known = before.validity === validity ? (before.last_uid ?? 0) : undefined;
    const since = new Date((before.looked_ms ?? beganMs) - dayMs);
    const news = await this.#search(known, since, mailbox.uidNext);
    const endsAtMs = time.monotonicMs() + takingMs;
    const judged: JudgedMail[] = [];
    const seen: number[] = [];
    let fetched = 0;
    let lastUid = news.uids.length === 0 ? news.lookedUpTo : (known ?? 0);
    let taken = 0;
    for (const uid of news.uids.slice(0, mailsMax)) {
      if (taken > 0 && (fetched > fetchedBytesMax || time.monotonicMs() > endsAtMs)) break;
      const size = await this.#newsSize(uid, beganMs);
      if (size !== undefined) {
        seen.push(uid);
        fetched += Math.min(size, mailBytesMax);
        const mail = await this.#judge(uid, size);
        if (mail !== undefined) judged.push(mail);
      }
      lastUid = uid;
      taken += 1;
    }
    const more = news.more || taken < news.uids.length;
    const state = { about: before.about, validity, last_uid: lastUid, began_ms: beganMs, looked_ms: nowMs };
    return { seen, judged, state, more };
  }

  #search(known: number | undefined, since: Date, uidNext: number): Promise<NewMails> {
    const search = searchingIn(this.#client);
    return this.#ask(async () => {
      if (known !== undefined) return mailsAfter(search, known);
      // Before the first mail under these numbers all below the next number has been looked at.
      if (!Number.isSafeInteger(uidNext) || uidNext < 0) {
        throw new MailboxError('The server of the mailbox does not say which number its next mail has.');
      }
      const lookedUpTo = Math.max(0, uidNext - 1);
      return { uids: await mailsSince(search, since), lookedUpTo, more: false };
    }, searchBytesMax);
  }

  /** Undefined for what lay there before the trigger began, or has gone. */
  async #newsSize(uid: number, beganMs: number): Promise<number | undefined> {
    const wanted = { internalDate: true, size: true };
    const about = await this.#ask(() => this.#client.fetchOne(String(uid), wanted, { uid: true }));
    if (!about) return undefined;
    const { internalDate } = about;
    // What the server does not say in a number counts as the most that a mail may have.
    const size = Number.isSafeInteger(about.size) ? (about.size ?? 0) : mailBytesMax;
    const isNews = internalDate === undefined || new Date(internalDate).getTime() >= beganMs - clockSlackMs;
    return isNews ? size : undefined;
  }

  async #judge(uid: number, size: number): Promise<JudgedMail | undefined> {
    const { intake, reader, checksSenders } = this.#parts;
    const { trigger, config } = this.#found;
    if (size > mailBytesMax) {
      const about = `${this.#client.host} ${config.imap?.user} ${uid}`;
      const reason = `The mail has more than ${mailBytesMax} bytes.`;
      return intake.unreadable(this.#found, createHash('sha256').update(about).digest('hex'), reason);
    }
    const wanted = { source: { maxLength: mailBytesMax } };
    const whole = await this.#ask(() => this.#client.fetchOne(String(uid), wanted, { uid: true }));
    if (!whole || whole.source === undefined) return undefined;
    const digest = createHash('sha256').update(whole.source).digest('hex');
    try {
      const check = checksSenders ? ({ by: 'mailbox' } as const) : undefined;
      const { mail, verdict } = await reader.read(trigger.scope.tenantId, whole.source, check);
      const recipient = recipientOf(this.#found);
      return await intake.judge(this.#found, { mail, verdict, digest, recipient, returnPath: undefined });
    } catch (error) {
      if (!(error instanceof UnreadableMail)) throw error;
      return intake.unreadable(this.#found, digest, error.message);
    }
  }
}

function recipientOf({ trigger, config }: MailTrigger): string {
  const mailbox = mailboxOf(config) ?? `${trigger.id}@${config.imap?.host ?? 'localhost'}`;
  return (config.address ?? mailbox).toLowerCase();
}
