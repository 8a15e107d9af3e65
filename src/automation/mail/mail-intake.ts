import type { Ids } from '../../kernel/chance.js';
import type { ErrorCode, PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { ClientWindows, Quota } from '../../tenancy/quota/index.js';
import {
  type BatchWriter,
  type HotReads,
  type Store,
  StoreError,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import type { EmailConfig } from '../triggers/config/email-config.js';
import { cutText } from '../triggers/mapped-context.js';
import { mailOf } from '../triggers/types/registry.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import { recordRefused } from '../../conversations/sessions/index.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import { holdMs, type InboxRunner } from '../inbox/inbox-runner.js';
import type { MessagePayload, MessageSealer } from '../messages/message-payload.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { putIntoInbox } from '../sources/found-messages.js';
import type { MailAddresses } from '../messages/mail-addresses.js';
import { isAutomatic } from './automatic-mail.js';
import type { AcceptedMail, MailAcceptance } from './mail-target.js';
import { storedMailId } from '../messages/mail-id.js';
import { noteMail } from '../messages/mail-threads.store.js';
import type { ParsedMail, SenderVerdict } from '../mail-reading/parsed-mail.js';
import { sessionOfThread, threadOf } from './mail-thread.js';
import { writtenText } from './written-text.js';

const keepMs = 8 * 24 * 3_600_000;
const contextCharsMax = 2_000;
const referencesKept = 20;
/** Of a trigger. Strangers send them, and each is a row of the tenant's history. */
const refusedPerMinute = 60;

export interface MailIntakeParts {
  readonly store: Pick<Store, 'inTenant'>;
  readonly reads: Pick<HotReads, 'inTenant'>;
  readonly senderBlocks: Pick<SenderBlocks, 'isDenied'>;
  readonly addresses: Pick<MailAddresses, 'ownAddresses' | 'sendingAs'>;
  readonly quota: Pick<Quota, 'admitTenantWork'>;
  /** Mails that cannot be read, or whose sender is not known for certain, by trigger. */
  readonly refusedMails: Pick<ClientWindows, 'countAtOnce'>;
  readonly inbox: Pick<BatchWriter<AcceptedMail, MailAcceptance>, 'write'>;
  readonly runner: Pick<InboxRunner, 'begin' | 'beginIfAccepted'>;
  readonly seal: MessageSealer;
  readonly measures: Pick<TriggerMeasures, 'accepted'>;
  readonly ids: Ids;
}

/** A trigger that receives mail. */
export interface MailTrigger {
  readonly trigger: LiveTrigger;
  readonly config: EmailConfig;
}

export interface ReceivedMail {
  readonly mail: ParsedMail;
  readonly verdict: SenderVerdict;
  /** SHA-256 of all its bytes. */
  readonly digest: string;
  /** The address that the mail was sent to. */
  readonly recipient: string;
  /** The envelope sender, if there is an envelope; empty for `<>`. */
  readonly returnPath: string | undefined;
}

/** Why a mail starts no turn, as recorded with its execution. */
export interface MailRefusal {
  readonly status: 'blocked' | 'failed';
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
}

/** A mail to record: to be run, or as refused. */
export type EvaluatedMail = AdmittedMail | RefusedMail;

interface AdmittedMail {
  readonly trigger: LiveTrigger;
  readonly messageId: string;
  readonly thread: string;
  readonly sessionId: string;
  readonly work: Omit<MessagePayload, 'requestId'>;
  readonly refusal?: undefined;
}

interface RefusedMail {
  readonly trigger: LiveTrigger;
  readonly messageId: string;
  readonly thread: string;
  /** Null if the sender is not known for certain. */
  readonly sessionId: string | null;
  readonly message: string;
  readonly refusal: MailRefusal;
  /** The sender, if it is known for certain. */
  readonly consumerKey?: string;
  /** The sender that an unauthenticated mail names. */
  readonly claimedSender?: string;
}

export function mailTriggerOf(trigger: LiveTrigger | undefined): MailTrigger | undefined {
  const config = trigger && mailOf(trigger.parsed);
  return config && { trigger, config };
}

/** Takes a parsed mail into the inbox, whether it was sent to this node or fetched. */
export class MailIntake {
  readonly #parts: MailIntakeParts;

  constructor(parts: MailIntakeParts) {
    this.#parts = parts;
  }

  /** Decides what to do with the mail; undefined if it is ignored. */
  async evaluate(found: MailTrigger, received: ReceivedMail): Promise<EvaluatedMail | undefined> {
    const { reads, senderBlocks, addresses } = this.#parts;
    const { trigger, config } = found;
    const { mail, recipient, returnPath, verdict } = received;
    const { sender } = mail;
    const ownAddresses = addresses.ownAddresses(trigger, config, recipient);
    if (sender === undefined || isAutomatic(mail, { returnPath, ownAddresses })) return undefined;
    if (verdict !== 'unchecked' && verdict !== 'authenticated')
      return unauthenticated(trigger, received, sender);
    const ids = {
      id: storedMailId(mail.id),
      inReplyTo: mail.inReplyTo.map(storedMailId),
      references: mail.references.map(storedMailId),
    };
    const thread = await threadOf(reads, trigger.scope, trigger.id, ids);
    const { from } = await addresses.sendingAs(trigger, config, recipient);
    const work = { ...payloadOf(mail, { sender, from, thread }), agentId: trigger.agentId };
    const known = {
      trigger,
      messageId: ids.id,
      thread,
      sessionId: sessionOfThread(trigger, thread, sender),
    };
    const isRefused = !isAllowed(config, sender) || (await senderBlocks.isDenied(trigger.scope, sender));
    return isRefused
      ? { ...known, consumerKey: sender, message: work.message, refusal: { status: 'blocked', error: null } }
      : { ...known, work };
  }

  /** Records a mail that could not be read: the owner sees why, and later mails continue. */
  unreadable({ trigger }: MailTrigger, digest: string, reason: string): EvaluatedMail {
    const error = { code: 'unreadable_mail', message: reason } as const;
    const message = '(a mail that cannot be read)';
    return refusedMail(trigger, `unreadable:${digest}`, message, { status: 'failed', error });
  }

  /**
   * Resolves once the mail is committed, or known as a repeat. Rejects if the tenant's rate limit refuses it; mails of
   * unknown senders have a limit of their own, since anybody could use up the tenant's with them.
   */
  async accept(evaluated: EvaluatedMail): Promise<void> {
    const { store, quota, inbox, runner, seal } = this.#parts;
    const { trigger, messageId, thread } = evaluated;
    const { scope } = trigger;
    if (evaluated.refusal !== undefined) {
      const tooMany = this.#countRefused(evaluated);
      if (tooMany !== undefined) throw tooMany;
      // A gate counts, and gives the same answer under any load.
      if (evaluated.refusal.error === null) await quota.admitTenantWork(scope, trigger.limits);
      await store.inTenant(scope, (tx) => this.#keepRefused(scope, tx, evaluated));
      return;
    }
    const { refusal } = await quota.admitTenantWork(scope, trigger.limits);
    if (refusal !== undefined) throw refusal;
    const { sessionId } = evaluated;
    const key = keyOf(evaluated);
    const work: MessagePayload = { ...evaluated.work, requestId: key };
    const executionId = this.#parts.ids.uuid();
    const row = { trigger_id: trigger.id, key, seq: 0 };
    const item = { scope, triggerId: trigger.id, sessionId, executionId, work, row, attempts: 1, ageMs: 0 };
    const writing = inbox.write({
      tenant_id: scope.tenantId,
      trigger_id: trigger.id,
      message_id: messageId,
      thread,
      key,
      session_id: sessionId,
      execution_id: executionId,
      sealed: seal.seal(scope, work),
      hold_ms: holdMs,
      keep_ms: keepMs,
    });
    const { place } = await writing.catch((error: unknown) => {
      if (error instanceof StoreError && error.failure === 'outcome-unknown') runner.beginIfAccepted(item);
      throw error;
    });
    // A repeat, or a mail of a batch that was written again after a lost COMMIT answer and found its own rows.
    if (place === undefined) {
      runner.beginIfAccepted(item, 1);
      return;
    }
    this.#parts.measures.accepted('email');
    runner.begin({ ...item, row: { ...row, ...place } });
  }

  /**
   * The same as part of a transaction; undefined if no turn is to run. Nobody sends a mail of a mailbox again, so those
   * beyond the limit of unknown senders are passed over.
   */
  async acceptWithin(
    scope: TenantScope,
    tx: TenantTransaction,
    evaluated: EvaluatedMail,
  ): Promise<InboxMessage | undefined> {
    if (evaluated.refusal !== undefined) {
      if (this.#countRefused(evaluated) === undefined) await this.#keepRefused(scope, tx, evaluated);
      return undefined;
    }
    const { trigger, messageId, thread, sessionId, work } = evaluated;
    if (!(await noteMail(scope, tx, { triggerId: trigger.id, messageId, thread }))) return undefined;
    const found = { triggerId: trigger.id, key: keyOf(evaluated), sessionId, work, keepMs };
    return putIntoInbox(scope, tx, this.#parts, found);
  }

  /** The refusal of a mail whose sender is unknown, if its trigger has had too many. Those that a gate stops are none. */
  #countRefused({ trigger, refusal }: RefusedMail): PlatformError | undefined {
    return refusal.error === null
      ? undefined
      : this.#parts.refusedMails.countAtOnce(trigger.id, refusedPerMinute).refusal;
  }

  async #keepRefused(
    scope: TenantScope,
    tx: TenantTransaction,
    { trigger, messageId, thread, sessionId, message, refusal, consumerKey, claimedSender }: RefusedMail,
  ): Promise<void> {
    if (!(await noteMail(scope, tx, { triggerId: trigger.id, messageId, thread }))) return;
    await recordRefused(tx, {
      id: this.#parts.ids.uuid(),
      agentId: trigger.agentId,
      sessionId,
      triggerId: trigger.id,
      channel: 'email',
      userId: null,
      consumerKey,
      ...(claimedSender === undefined ? {} : { claimedSender }),
      message,
      ...refusal,
    });
  }
}

function keyOf({ messageId }: AdmittedMail): string {
  return `mail:${messageId}`;
}

/** Entries are addresses, or `@` and a domain. */
function isAllowed({ allowed_senders: allowed }: EmailConfig, sender: string): boolean {
  if (allowed === undefined) return true;
  const domain = sender.slice(sender.lastIndexOf('@'));
  return allowed.some((entry) => [sender, domain].includes(entry.toLowerCase()));
}

/**
 * Recorded under a digest of its bytes, not its Message-ID, which a stranger may choose: the real mail with that id is
 * then no repeat, and no answer finds its thread by it.
 */
function unauthenticated(
  trigger: LiveTrigger,
  { mail, digest, verdict }: ReceivedMail,
  claimedSender: string,
): RefusedMail {
  const message =
    verdict === 'undecided'
      ? `The name servers did not tell whether the domain of ${claimedSender} vouches for this mail (DMARC).`
      : `The domain of ${claimedSender} does not vouch for this mail by SPF or DKIM (DMARC).`;
  const refused = refusedMail(trigger, `unauthenticated:${digest}`, messageIn(mail), {
    status: 'blocked',
    error: { code: 'unauthenticated_sender', message },
  });
  return { ...refused, claimedSender };
}

function refusedMail(
  trigger: LiveTrigger,
  messageId: string,
  message: string,
  refusal: MailRefusal,
): RefusedMail {
  return { trigger, messageId, thread: messageId, sessionId: null, message, refusal };
}

function messageIn({ text, subject }: ParsedMail): string {
  return [writtenText(text), subject, '(no text)'].find((found) => found !== '') ?? '';
}

function payloadOf(
  mail: ParsedMail,
  { sender, from, thread }: { readonly sender: string; readonly from: string; readonly thread: string },
): Omit<MessagePayload, 'requestId'> {
  const { subject, attachments, senderName } = mail;
  const references = [...(mail.references.length > 0 ? mail.references : mail.inReplyTo)].slice(
    -referencesKept,
  );
  return {
    message: messageIn(mail),
    context: {
      ...(subject === '' ? {} : { subject }),
      ...(attachments.length === 0 ? {} : { attachments: cutText(attachments.join(', '), contextCharsMax) }),
    },
    consumerKey: sender,
    ...(senderName === undefined ? {} : { displayName: senderName }),
    reply: { to: sender, from },
    mail: { subject, thread, references, ...(mail.hasMessageId ? { messageId: mail.id } : {}) },
  };
}
