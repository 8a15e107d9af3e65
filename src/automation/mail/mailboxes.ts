import type { ImapFlow } from 'imapflow';
import type { Timer } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Store, StoreError, type TenantTransaction } from '../../infra/storage/index.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import { armSource, holdLonger, moveOn, type SourceRow, takeDue } from '../sources/sources.store.js';
import type { ArmedRow, Polled, TriggerSource } from '../sources/trigger-source.js';
import type { EmailConfig } from '../triggers/config/email-config.js';
import type { MailAddresses } from '../messages/mail-addresses.js';
import {
  connectMailbox,
  type Imap,
  type MailboxConnectionParts,
  MailboxError,
} from './mailbox-connection.js';
import { withinBudget } from './mailbox-budget.js';
import {
  type FoundMails,
  MailboxPoll,
  type MailboxPollParts,
  mailboxState,
  type MailboxState,
  triesMax,
} from './mailbox-poll.js';
import { type MailIntake, type MailTrigger, mailTriggerOf } from './mail-intake.js';

/** How long after the resumption of a suspended tenant its mailbox is read at the latest. */
const pausedAgainMs = 30_000;
/** IDLE announces new mail; this poll finds what it missed, and serves servers without IDLE. */
const pollEveryMs = 20_000;
/**
 * Longer than a poll of mails that are read quickly. During a longer poll another node may start the same one, and the
 * first to finish counts. After a node has died during a poll, no node polls for this long.
 */
const holdMs = 30_000;
/** Connections that stay open for IDLE; others are closed after each poll. */
const openMax = { all: 500, each: 50 };
/** A server that announces new mail continuously is polled once a second. */
const wakeEveryMs = 1_000;
/** Notifications between two polls are a few lines. */
const idleBytesMax = 256 * 1024;
const idleCountEveryMs = 1_000;
/** The limits for opening the mailbox and for marking mails in it. */
const openBudget = { ms: 4_000, bytes: 256 * 1024 };

export interface MailboxesParts extends MailboxConnectionParts, Omit<MailboxPollParts, 'intake' | 'hold'> {
  readonly store: Store;
  readonly live: LiveTriggers;
  readonly intake: Pick<MailIntake, 'evaluate' | 'unreadable' | 'acceptWithin'>;
  readonly addresses: Pick<MailAddresses, 'check'>;
  /** The server announced new mail: poll before the source is due. */
  readonly wake: (scope: TenantScope, triggerId: string) => void;
  readonly report: (attempted: string, error: unknown) => void;
}

/** What came of the mails of one poll. */
interface Recorded {
  readonly items: readonly InboxMessage[];
  /** The first mail that could not be recorded and is polled again, with all mails behind it. */
  readonly again?: number;
  /** Why a mail could not be recorded. */
  readonly failures: readonly unknown[];
}

interface Open {
  readonly about: string;
  readonly tenantId: string;
  readonly client: ImapFlow;
  /** No poll has used it yet. */
  isFresh: boolean;
  /** The bytes received when the last poll ended; undefined during a poll, which has its own count. */
  receivedBefore: number | undefined;
}

/**
 * Polls tenants' mailboxes over IMAP. A trigger starts with mails that arrive after it. The transaction that puts a
 * poll's mails into the inbox also moves the position in the mailbox, so a mail runs once even if a process dies;
 * afterwards it is marked as seen. If the server renumbers its mails, they are recognised by Message-ID.
 */
export class Mailboxes implements TriggerSource<'email'> {
  readonly type = 'email';
  readonly keepsConnection = true;
  /** Each poll may hold a mail of 10 MB, raw and parsed. */
  readonly pollsMax = { all: 16, each: 4 };
  readonly #parts: MailboxesParts;
  readonly #open = new Map<string, Promise<Open>>();
  /** Connections whose sign-in has finished. */
  readonly #idle = new Map<string, Open>();
  readonly #wakes = new Map<string, Timer>();
  /** New mail was announced again within that second. */
  readonly #missed = new Set<string>();
  #counting: Timer | undefined;
  #isStopped = false;

  constructor(parts: MailboxesParts) {
    this.#parts = parts;
  }

  async arm(tx: TenantTransaction, config: EmailConfig, { row, now, beginning }: ArmedRow): Promise<void> {
    await armSource(tx.scope, tx, {
      triggerId: row.id,
      kind: this.type,
      state: beginning,
      // Set even if the mailbox, the first or another one, cannot be reached for some time.
      firstState: { about: aboutOf(config), began_ms: now.getTime() },
      revision: row.revision,
      // Mail sent to this node needs no polling.
      dueAt: row.enabled && config.imap !== undefined ? now : undefined,
    });
  }

  checkSettings(scope: TenantScope, triggerId: string | undefined, config: EmailConfig): Promise<void> {
    return this.#parts.addresses.check(scope, triggerId, config);
  }

  /** Polls once if the source is due and no other node is polling it. */
  async poll(scope: TenantScope, triggerId: string, early: boolean): Promise<Polled> {
    const { store, live } = this.#parts;
    const trigger = await live.get(triggerId);
    const found = mailTriggerOf(trigger);
    const imap = found?.config.imap;
    if (found === undefined || imap === undefined || !found.trigger.enabled) {
      this.#close(triggerId);
      return trigger === undefined ? { items: [], skipped: 'unknown' } : { items: [] };
    }
    if (found.trigger.suspended) {
      this.#close(triggerId);
      return { items: [], againInMs: pausedAgainMs, skipped: 'suspended' };
    }
    const { revision } = found.trigger;
    const source = await store.inTenant(scope, (tx) =>
      takeDue(scope, tx, { triggerId, revision, holdMs, early }),
    );
    if (source === null) {
      // Another node polls the mailbox now, or will.
      this.#close(triggerId);
      return { items: [] };
    }
    try {
      const open = await this.#openFor(scope, triggerId, imap);
      open.receivedBefore = undefined;
      const { items, more } = await this.#take(scope, found, open, source);
      this.#keep(triggerId, open);
      return { items, againInMs: (more ? 0 : pollEveryMs) + 10 };
    } catch (error) {
      this.#close(triggerId);
      throw error;
    }
  }

  /** A poll that runs records nothing. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#counting?.cancel();
    for (const timer of this.#wakes.values()) timer.cancel();
    for (const triggerId of this.#open.keys()) this.#close(triggerId);
  }

  async #take(
    scope: TenantScope,
    found: MailTrigger,
    open: Open,
    source: SourceRow,
  ): Promise<{ readonly items: readonly InboxMessage[]; readonly more: boolean }> {
    const { store, time, report } = this.#parts;
    const { client, isFresh } = open;
    open.isFresh = false;
    const before = stateFor(found, mailboxState.parse(source.state));
    const hold = async (ms: number): Promise<void> => {
      const longer = { triggerId: found.trigger.id, state: source.state, holdMs: ms + holdMs };
      await store.inTenant(scope, (tx) => holdLonger(scope, tx, longer));
    };
    const poll = new MailboxPoll({ ...this.#parts, hold }, found, client);
    const mails = await poll.take(before, source.now.getTime(), isFresh);
    // A closed connection has no more mails, which looks as if they were deleted.
    if (this.#isStopped) throw new MailboxError('The poll was broken off.');
    const recorded = await store.inTenant(scope, (tx) => this.#record(tx, found, source, mails));
    for (const error of recorded?.failures ?? []) report('recording a mail of a mailbox', error);
    const again = recorded?.again;
    const seen = recorded === undefined ? [] : mails.seen.filter((uid) => again === undefined || uid < again);
    if (seen.length > 0) {
      // For people who read the mailbox; accepted mails are known without it.
      const mark = () => client.messageFlagsAdd(seen.join(','), ['\\Seen'], { uid: true });
      await withinBudget(client, time, openBudget, mark).catch((error: unknown) =>
        report('marking mails as seen', error),
      );
    }
    return { items: recorded?.items ?? [], more: mails.more && again === undefined };
  }

  /**
   * Records the mails of a poll and moves the position behind them; undefined if another poll has moved it. A mail that
   * cannot be recorded takes nothing else with it: the position stays before it for some polls, then it is passed over,
   * with the reason recorded in its place.
   */
  async #record(
    tx: TenantTransaction,
    found: MailTrigger,
    source: SourceRow,
    { evaluated, state, more }: FoundMails,
  ): Promise<Recorded | undefined> {
    const { intake } = this.#parts;
    const { id, scope } = found.trigger;
    const nowMs = source.now.getTime();
    const dueAt = new Date(nowMs + (more ? 0 : pollEveryMs));
    if (!(await moveOn(scope, tx, id, { before: source.state, state, dueAt }))) return undefined;
    const items: InboxMessage[] = [];
    const failures: unknown[] = [];
    for (const { uid, digest, tries, mail } of evaluated) {
      try {
        const item = await tx.savepoint((part) => intake.acceptWithin(scope, part, mail));
        if (item !== undefined) items.push(item);
      } catch (error) {
        // The next poll finds all of them.
        if (!isOfTheMail(error)) throw error;
        failures.push(error);
        if (tries < triesMax) {
          const position = { ...state, last_uid: uid - 1, slow: { uid, tries } };
          const later = new Date(nowMs + pollEveryMs);
          await moveOn(scope, tx, id, { before: state, state: position, dueAt: later });
          return { items, failures, again: uid };
        }
        // If this fails as well, the fault is not the mail's: the poll fails, and no mail is passed over.
        const reason = `The platform could not record this mail ${triesMax} times.`;
        await intake.acceptWithin(scope, tx, intake.unreadable(found, digest, reason));
      }
    }
    return { items, failures };
  }

  #openFor(scope: TenantScope, triggerId: string, imap: Imap): Promise<Open> {
    const about = JSON.stringify(imap);
    const known = this.#open.get(triggerId);
    const opening =
      known === undefined
        ? this.#connect(scope, triggerId, imap, about)
        : known.then((open) => {
            if (open.about === about && open.client.usable) return open;
            open.client.close();
            return this.#connect(scope, triggerId, imap, about);
          });
    this.#open.set(triggerId, opening);
    return opening;
  }

  async #connect(scope: TenantScope, triggerId: string, imap: Imap, about: string): Promise<Open> {
    const client = await connectMailbox(this.#parts, scope, imap);
    try {
      await withinBudget(client, this.#parts.time, openBudget, () => client.mailboxOpen(imap.mailbox));
    } catch (error) {
      client.close();
      if (error instanceof MailboxError) throw error;
      throw new MailboxError('The mailbox could not be opened.', { cause: error });
    }
    client.on('exists', () => this.#wakeSoon(scope, triggerId));
    return { about, tenantId: scope.tenantId, client, isFresh: true, receivedBefore: undefined };
  }

  /** Limits the polls, however often the server announces new mail. */
  #wakeSoon(scope: TenantScope, triggerId: string): void {
    const { time, wake } = this.#parts;
    if (this.#wakes.has(triggerId)) return void this.#missed.add(triggerId);
    wake(scope, triggerId);
    const timer = time.after(wakeEveryMs, () => {
      if (this.#wakes.delete(triggerId) && this.#missed.delete(triggerId)) this.#wakeSoon(scope, triggerId);
    });
    this.#wakes.set(triggerId, timer);
  }

  /** Keeps the connection open for IDLE if there is a place for it; its bytes are counted between polls. */
  #keep(triggerId: string, open: Open): void {
    const ofTenant = [...this.#idle.values()].filter(({ tenantId }) => tenantId === open.tenantId).length;
    const isKept = this.#idle.has(triggerId);
    if (!isKept && (this.#idle.size >= openMax.all || ofTenant >= openMax.each)) {
      this.#close(triggerId);
      return;
    }
    open.receivedBefore = open.client.stats().received;
    this.#idle.set(triggerId, open);
    this.#counting ??= this.#parts.time.after(idleCountEveryMs, () => this.#countIdle());
  }

  #countIdle(): void {
    for (const [triggerId, { client, receivedBefore }] of this.#idle) {
      if (receivedBefore === undefined) continue;
      if (client.stats().received - receivedBefore <= idleBytesMax) continue;
      this.#close(triggerId);
      const error = new MailboxError(
        `The server of the mailbox sent more than ${idleBytesMax} bytes unasked.`,
      );
      this.#parts.report('waiting for new mail in a mailbox', error);
    }
    this.#counting =
      this.#idle.size === 0 ? undefined : this.#parts.time.after(idleCountEveryMs, () => this.#countIdle());
  }

  #close(triggerId: string): void {
    const open = this.#open.get(triggerId);
    this.#open.delete(triggerId);
    this.#idle.delete(triggerId);
    // The caller that opened the connection has already received its error.
    open?.then(({ client }) => client.close()).catch(() => undefined);
  }
}

/** Whether PostgreSQL refuses a value of the mail. Any other fault may be one of the platform, and meet every mail. */
function isOfTheMail(error: unknown): boolean {
  return error instanceof StoreError && error.failure === 'invalid-value';
}

function stateFor({ config }: MailTrigger, state: MailboxState): MailboxState {
  const about = aboutOf(config);
  const isSame = state.about === about || state.about === undefined;
  return isSame ? { ...state, about } : { about, revision: state.revision };
}

/** Configurations with the same text continue from the same position. */
function aboutOf({ imap }: EmailConfig): string {
  return JSON.stringify([imap?.host, imap?.user, imap?.mailbox]);
}
