import { createHash } from 'node:crypto';
import type { FetchMessageObject, FetchQueryObject, ImapFlow, MailboxObject } from 'imapflow';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { MailReader } from '../mail-reading/mail-reader.js';
import { SlowMail, UnreadableMail } from '../mail-reading/parsed-mail.js';
import { mailboxOf } from '../messages/mail-addresses.js';
import { MailboxError, SlowMailboxError, withinBudget } from './mailbox-budget.js';
import { mailsAfter, mailsSince, type NewMails, searchingIn } from './mailbox-search.js';
import {
  isDue,
  isLastTry,
  isPutOff,
  type UndecidedMail,
  undecidedMail,
  undecidedMax,
} from './undecided-mails.js';
import type { EvaluatedMail, MailIntake, MailTrigger } from './mail-intake.js';
import { mailBytesMax } from './mail-limits.js';

const mailsMax = 20;
/** The bytes of mail that one poll fetches; the rest is left to the next poll, which follows immediately. */
const fetchedBytesMax = 2 * mailBytesMax;
/** All bytes that the server may send in one poll: the mails, one more, and the protocol around them. */
const pollBytesMax = fetchedBytesMax + 2 * mailBytesMax;
/**
 * The server's share of one poll. Reading a mail is not counted: a slow mail would otherwise end every poll at the same
 * place and block the mailbox forever.
 */
const serverMs = 16_000;
/**
 * The slowest server that can send the largest mail (0.8 Mbit/s). The first mail of a poll has the time that its size
 * takes at this rate, at most 105 seconds: only what is first in a poll can be late in each.
 */
const slowestBytesPerMs = 100;
/** After this time a poll takes no further mail, so that its mails are committed in time. */
const takingMs = 8_000;
/** `windowsMax` windows cover more numbers than any server has; the answer for one window is 40 KB. */
const searchBytesMax = 4 * 1024 * 1024;
/**
 * Maximum of polls that try to take one mail. A busy machine reads a good mail within them, and a mail that takes too
 * long to read, or that cannot be recorded, does not keep the mails behind it waiting for ever.
 */
export const triesMax = 3;
const dayMs = 86_400_000;
/** Servers report the time of arrival in seconds, by their own clocks. */
const clockSlackMs = 5_000;

export const mailboxState = z.object({
  /** The mailbox that was polled; another one starts anew. */
  about: z.string().optional(),
  /** The trigger's revision when it was armed last. */
  revision: z.number().optional(),
  /** The UIDVALIDITY value: mail numbers are comparable under the same value only. */
  validity: z.string().optional(),
  last_uid: z.number().optional(),
  /** Mails that arrived earlier are not new, whatever their number. */
  began_ms: z.number().optional(),
  looked_ms: z.number().optional(),
  /** The mail after the last one, if it took too long to read or could not be recorded, and how often. */
  slow: z.object({ uid: z.number(), tries: z.number() }).optional(),
  /** Mails up to the last one that are read again later. */
  undecided: z.array(undecidedMail).optional(),
});
export type MailboxState = z.output<typeof mailboxState>;

/** A mail to record. */
export interface FoundMail {
  readonly uid: number;
  /** Of its bytes: identifies it if it cannot be recorded. */
  readonly digest: string;
  /** How many polls have tried to take it, including this one. */
  readonly tries: number;
  readonly mail: EvaluatedMail;
}

interface Evaluated {
  readonly digest: string;
  /** Undefined: the mail is ignored. */
  readonly mail: EvaluatedMail | undefined;
}

/** Why a mail was not fetched. */
interface Unread {
  readonly reason: string;
  /** Whether another try changes nothing. */
  readonly isFinal: boolean;
}

export interface FoundMails {
  /** The numbers of the mails that were polled. */
  readonly seen: readonly number[];
  readonly evaluated: readonly FoundMail[];
  readonly state: MailboxState;
  readonly more: boolean;
}

export interface MailboxPollParts {
  readonly intake: Pick<MailIntake, 'evaluate' | 'unreadable'>;
  readonly reader: Pick<MailReader, 'read'>;
  /** Whether mails must prove their sender. */
  readonly checksSenders: boolean;
  /** Holds the source for so long from now. */
  readonly hold: (ms: number) => Promise<void>;
  readonly time: Time;
}

/** One mail to take. */
interface One {
  readonly uid: number;
  /** How many polls have tried to take it, including this one. */
  readonly tries: number;
  readonly isFirst: boolean;
  /** Whether the poll fails if the server fails at this mail. */
  readonly failsPoll: boolean;
  /** Whether it may be read again later if its sender is undecided. */
  readonly mayWait: boolean;
}

/**
 * `later`: a later poll tries the mail again. `next poll`: the server failed before it had sent the mail. What was found
 * before it is kept, and the next poll begins with it. Undefined for mails that are not new or no longer there.
 */
type Taken = Evaluated | 'undecided' | 'later' | 'next poll' | undefined;

/** One poll of an open mailbox: which mails are new, and what to do with each. */
export class MailboxPoll {
  readonly #parts: MailboxPollParts;
  readonly #found: MailTrigger;
  readonly #client: ImapFlow;
  #serverMsLeft = serverMs;
  #fetchedBytes = 0;
  #undecided: UndecidedMail[] = [];
  readonly #seen: number[] = [];
  readonly #evaluated: FoundMail[] = [];

  constructor(parts: MailboxPollParts, found: MailTrigger, client: ImapFlow) {
    this.#parts = parts;
    this.#found = found;
    this.#client = client;
  }

  /**
   * A mail that cannot be read counts as polled, so that later mails are processed. `isFresh`: the mailbox was opened for
   * this poll.
   */
  take(before: MailboxState, nowMs: number, isFresh: boolean): Promise<FoundMails> {
    // Reading has its own limits, and the server's time is counted at each request.
    const budget = { ms: Infinity, bytes: pollBytesMax };
    return withinBudget(this.#client, this.#parts.time, budget, () => this.#take(before, nowMs, isFresh));
  }

  /** Sends a request to the server within the time left of its share, or a longer one. */
  async #ask<Result>(work: () => Promise<Result>, bytes = pollBytesMax, ms = 0): Promise<Result> {
    const { time } = this.#parts;
    const askedAtMs = time.monotonicMs();
    const budget = { ms: Math.max(ms, this.#serverMsLeft), bytes };
    try {
      return await withinBudget(this.#client, time, budget, work);
    } finally {
      this.#serverMsLeft -= time.monotonicMs() - askedAtMs;
    }
  }

  async #take(before: MailboxState, nowMs: number, isFresh: boolean): Promise<FoundMails> {
    const { time } = this.#parts;
    const { mailbox } = this.#client;
    if (mailbox === false) throw new MailboxError('The mailbox is not open.');
    const beganMs = before.began_ms ?? nowMs;
    const known = lastKnown(before, mailbox, isFresh);
    const since = new Date((before.looked_ms ?? beganMs) - dayMs);
    const news = await this.#search(known, since, mailbox.uidNext);
    const endsAtMs = time.monotonicMs() + takingMs;
    // After a renumbering the search finds them again; those above the position are polled again anyway.
    this.#undecided = (before.undecided ?? []).filter(({ uid }) => known !== undefined && uid <= known);
    const [first = 1] = news.uids;
    let lastUid = news.uids.length === 0 ? news.polledUpTo : (known ?? first - 1);
    let taken = 0;
    let slow: MailboxState['slow'];
    let hasFailed = false;
    for (const uid of news.uids.slice(0, mailsMax)) {
      const isFirst = taken === 0;
      if (!isFirst && this.#hasTaken(endsAtMs)) break;
      const tries = 1 + (known !== undefined && before.slow?.uid === uid ? before.slow.tries : 0);
      const mayWait = this.#undecided.length < undecidedMax;
      const one = { uid, tries, isFirst, failsPoll: isFirst, mayWait };
      const found = await this.#takeOne(one, beganMs);
      if (found === 'later' || found === 'next poll') {
        if (found === 'later') slow = { uid, tries };
        hasFailed = true;
        break;
      }
      if (found === 'undecided') this.#undecided.push({ uid, tries: 1, since_ms: nowMs });
      else this.#note(one, found);
      lastUid = uid;
      taken += 1;
    }
    if (!hasFailed) await this.#retry({ nowMs, beganMs, endsAtMs, taken });
    const isBehind = taken < news.uids.length || this.#undecided.some((mail) => isDue(mail, nowMs));
    // The next poll tries again: a poll at once would meet the same busy machine.
    const more = slow === undefined && (news.more || isBehind);
    const undecided = this.#undecided.length === 0 ? undefined : this.#undecided;
    const validity = String(mailbox.uidValidity);
    const position = { validity, last_uid: lastUid, slow, undecided };
    const { about, revision } = before;
    const state = { about, revision, ...position, began_ms: beganMs, looked_ms: nowMs };
    // If one cannot be recorded, the position stays before it: what is read for the second time lies below.
    const evaluated = this.#evaluated.toSorted((one, other) => one.uid - other.uid);
    return { seen: this.#seen, evaluated, state, more };
  }

  /** Mails whose sender was undecided, once no new ones wait for them. They fail no poll. */
  async #retry(poll: {
    readonly nowMs: number;
    readonly beganMs: number;
    readonly endsAtMs: number;
    readonly taken: number;
  }): Promise<void> {
    const { nowMs, beganMs, endsAtMs, taken } = poll;
    const isWanted = taken === 0 ? isDue : isPutOff;
    let isFirst = taken === 0;
    for (const mail of this.#undecided.filter((one) => isWanted(one, nowMs)).slice(0, mailsMax)) {
      if (!isFirst && this.#hasTaken(endsAtMs)) return;
      const { uid } = mail;
      const isLast = isLastTry(mail, nowMs);
      const one = { uid, tries: isLast ? triesMax : 1, isFirst, failsPoll: false, mayWait: !isLast };
      const found = await this.#takeOne(one, beganMs);
      isFirst = false;
      this.#undecided = this.#undecided.filter((other) => other !== mail);
      const isWaiting = typeof found === 'string';
      if (isWaiting && !isLast) this.#undecided.push({ ...mail, tries: mail.tries + 1 });
      else {
        const final = isWaiting
          ? this.#unread(uid, 'The server of the mailbox did not send this mail again.')
          : found;
        // If it cannot be recorded, the position does not go back to it.
        this.#note({ uid, tries: triesMax }, final);
      }
      if (found === 'next poll') return;
    }
  }

  /** Whether the poll has taken enough. */
  #hasTaken(endsAtMs: number): boolean {
    return this.#fetchedBytes > fetchedBytesMax || this.#parts.time.monotonicMs() > endsAtMs;
  }

  #note({ uid, tries }: Pick<One, 'uid' | 'tries'>, found: Evaluated | undefined): void {
    if (found === undefined) return;
    this.#seen.push(uid);
    const { digest, mail } = found;
    if (mail !== undefined) this.#evaluated.push({ uid, tries, digest, mail });
  }

  #search(known: number | undefined, since: Date, uidNext: number): Promise<NewMails> {
    const search = searchingIn(this.#client);
    return this.#ask(async () => {
      if (known !== undefined) return mailsAfter(search, known);
      // Before the first mail with this UIDVALIDITY, every number below the next one counts as polled.
      if (!Number.isSafeInteger(uidNext) || uidNext < 0) {
        throw new MailboxError('The mail server does not report the next mail number (UIDNEXT).');
      }
      const polledUpTo = Math.max(0, uidNext - 1);
      return { uids: await mailsSince(search, since), polledUpTo, more: false };
    }, searchBytesMax);
  }

  /** Undefined for mails that arrived before the trigger started, or that have been deleted. */
  async #newsSize(uid: number, beganMs: number): Promise<number | undefined> {
    const wanted = { internalDate: true, size: true };
    const rows = await this.#ask(() => this.#fetch(uid, wanted));
    const reported = rows.find(({ size }) => size !== undefined)?.size;
    const internalDate = rows.find((row) => row.internalDate !== undefined)?.internalDate;
    if (reported === undefined && internalDate === undefined && !(await this.#exists(uid))) return undefined;
    // If the server does not report the size as a number, assume the largest accepted mail.
    const size = reported !== undefined && Number.isSafeInteger(reported) ? reported : mailBytesMax;
    const isNews = internalDate === undefined || new Date(internalDate).getTime() >= beganMs - clockSlackMs;
    return isNews ? size : undefined;
  }

  /**
   * What the server tells about this mail. It may tell of others at any time, as when somebody reads one, and of this one
   * without what was asked for.
   */
  async #fetch(uid: number, wanted: FetchQueryObject): Promise<readonly FetchMessageObject[]> {
    const rows = await this.#client.fetchAll(String(uid), wanted, { uid: true });
    return rows.filter((row) => row.uid === uid);
  }

  /** Asked if a mail was not sent, as is also the case once the connection has ended: then the question is refused. */
  async #exists(uid: number): Promise<boolean> {
    const search = searchingIn(this.#client);
    const found = await this.#ask(() => search({ uid: String(uid) }), searchBytesMax);
    return found.includes(uid);
  }

  async #takeOne(one: One, beganMs: number): Promise<Taken> {
    const { uid, failsPoll, tries } = one;
    let source: Buffer | Unread | undefined;
    try {
      const size = await this.#newsSize(uid, beganMs);
      if (size === undefined) return undefined;
      this.#fetchedBytes += Math.min(size, mailBytesMax);
      source = await this.#sourceOf(one, size);
    } catch (error) {
      if (failsPoll) throw error;
      return 'next poll';
    }
    if (source === undefined) return undefined;
    if (source instanceof Uint8Array) return this.#evaluate(source, one);
    return source.isFinal || tries >= triesMax ? this.#unread(uid, source.reason) : 'later';
  }

  /** All bytes of the mail; undefined if it was deleted. */
  async #sourceOf({ uid, isFirst }: One, size: number): Promise<Buffer | Unread | undefined> {
    if (size > mailBytesMax) {
      return { reason: `The mail has more than ${mailBytesMax} bytes.`, isFinal: true };
    }
    const wanted = { source: { maxLength: mailBytesMax } };
    const ms = isFirst ? size / slowestBytesPerMs : 0;
    if (isFirst && ms > this.#serverMsLeft) await this.#parts.hold(ms);
    try {
      const rows = await this.#ask(() => this.#fetch(uid, wanted), pollBytesMax, ms);
      const source = rows.find((row) => row.source !== undefined)?.source;
      if (source !== undefined || !(await this.#exists(uid))) return source;
      return { reason: 'The server of the mailbox lists this mail but does not send it.', isFinal: false };
    } catch (error) {
      if (!isFirst || !(error instanceof SlowMailboxError)) throw error;
      return { reason: `The mail has ${size} bytes. ${error.message}`, isFinal: false };
    }
  }

  async #evaluate(source: Buffer, { tries, mayWait }: One): Promise<Taken> {
    const { intake, reader, checksSenders } = this.#parts;
    const { trigger } = this.#found;
    const digest = createHash('sha256').update(source).digest('hex');
    try {
      const check = checksSenders ? ({ by: 'mailbox' } as const) : undefined;
      const read = await reader.read(trigger.scope.tenantId, source, check);
      const received = { ...read, digest, recipient: recipientOf(this.#found), returnPath: undefined };
      const mail = await intake.evaluate(this.#found, received);
      return read.verdict === 'undecided' && mail !== undefined && mayWait ? 'undecided' : { digest, mail };
    } catch (error) {
      if (error instanceof SlowMail && tries < triesMax) return 'later';
      if (!(error instanceof UnreadableMail || error instanceof SlowMail)) throw error;
      return { digest, mail: intake.unreadable(this.#found, digest, error.message) };
    }
  }

  /** A mail that was not fetched, recorded under its number. */
  #unread(uid: number, reason: string): Evaluated {
    const about = `${this.#client.host} ${this.#found.config.imap?.user} ${uid}`;
    const digest = createHash('sha256').update(about).digest('hex');
    return { digest, mail: this.#parts.intake.unreadable(this.#found, digest, reason) };
  }
}

/**
 * The last number that was polled, if numbers are comparable with it. A mailbox restored from a backup may keep its
 * UIDVALIDITY and give numbers again. Opened for an earlier poll, it reports an old UIDNEXT, which the polls of other nodes
 * may have passed.
 */
function lastKnown(
  { validity, last_uid: lastUid = 0 }: MailboxState,
  { uidValidity, uidNext }: MailboxObject,
  isFresh: boolean,
): number | undefined {
  const isBack = isFresh && uidNext > 0 && uidNext <= lastUid;
  return validity === String(uidValidity) && !isBack ? lastUid : undefined;
}

function recipientOf({ trigger, config }: MailTrigger): string {
  const mailbox = mailboxOf(config) ?? `${trigger.id}@${config.imap?.host ?? 'localhost'}`;
  return (config.address ?? mailbox).toLowerCase();
}
