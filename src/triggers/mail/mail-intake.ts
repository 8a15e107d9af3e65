import { randomUUID } from 'node:crypto';
import type { TenantScope } from '../../context/tenant-scope.js';
import type { Quota } from '../../quota/index.js';
import type { BatchWriter, HotReads, Store, TenantTransaction } from '../../storage/index.js';
import type { EmailConfig } from '../config/source-configs.js';
import type { Gates } from '../gates.js';
import { insertEnded } from '../history/executions.store.js';
import type { Item } from '../inbox/item.js';
import { holdMs, type Runner } from '../inbox/runner.js';
import type { Work, WorkSeal } from '../inbox/work.js';
import type { LiveTrigger } from '../live-triggers.js';
import type { TriggerMeasures } from '../measures.js';
import { putIntoInbox } from '../sources/found-work.js';
import { isAutomatic } from './automatic.js';
import type { AcceptedMail, MailAcceptance } from './mail-target.js';
import { noteMail } from './mails.store.js';
import type { ParsedMail } from './parse-mail.js';
import { sessionOfThread, threadOf } from './thread.js';
import { writtenText } from './written-text.js';

const keepMs = 8 * 24 * 3_600_000;
const contextCharsMax = 2_000;
const referencesKept = 20;

export interface MailIntakeParts {
  readonly store: Store;
  readonly reads: HotReads;
  readonly gates: Pick<Gates, 'isDenied'>;
  readonly quota: Pick<Quota, 'admitTenantWork'>;
  readonly inbox: Pick<BatchWriter<AcceptedMail, MailAcceptance>, 'write'>;
  readonly runner: Pick<Runner, 'begin'>;
  readonly seal: WorkSeal;
  readonly measures: Pick<TriggerMeasures, 'accepted'>;
}

/** A trigger that takes mail. */
export interface MailTrigger {
  readonly trigger: LiveTrigger;
  readonly config: EmailConfig;
}

export interface ReceivedMail {
  readonly mail: ParsedMail;
  /** The address that it was sent to; answers come from there. */
  readonly recipient: string;
  /** Of the envelope, where there is one; empty for `<>`. */
  readonly returnPath: string | undefined;
}

/** A mail that is to be kept: to run, or as one that was refused. */
export interface JudgedMail {
  readonly trigger: LiveTrigger;
  readonly messageId: string;
  readonly thread: string;
  readonly sessionId: string;
  readonly work: Omit<Work, 'requestId'>;
  readonly refused: boolean;
}

export function mailTriggerOf(trigger: LiveTrigger | undefined): MailTrigger | undefined {
  if (trigger?.parsed.type !== 'email') return undefined;
  return { trigger, config: trigger.parsed.config };
}

/** The way of a mail from its parsed form into the inbox, whether it was sent here or fetched. */
export class MailIntake {
  readonly #parts: MailIntakeParts;

  constructor(parts: MailIntakeParts) {
    this.#parts = parts;
  }

  /** What is to become of the mail; undefined for one that is ignored. */
  async judge({ trigger, config }: MailTrigger, received: ReceivedMail): Promise<JudgedMail | undefined> {
    const { reads, gates } = this.#parts;
    const { mail, recipient, returnPath } = received;
    const { sender } = mail;
    const ownAddresses = [recipient, config.address?.toLowerCase() ?? recipient];
    if (sender === undefined || isAutomatic(mail, { returnPath, ownAddresses })) return undefined;
    const thread = await threadOf(reads, trigger.scope, trigger.id, mail);
    return {
      trigger,
      messageId: mail.id,
      thread,
      sessionId: sessionOfThread(trigger, thread, sender),
      work: { ...workOf(received, sender, thread), agentId: trigger.agentId },
      refused: !isAllowed(config, sender) || (await gates.isDenied(trigger.scope, sender)),
    };
  }

  /** Resolves once the mail is committed, or known to have come before. Rejects where the tenant's rate refuses it. */
  async accept(judged: JudgedMail): Promise<void> {
    const { store, quota, inbox, runner, seal } = this.#parts;
    const { trigger, messageId, thread, sessionId } = judged;
    const { scope } = trigger;
    const { refusal } = await quota.admitTenantWork(scope, trigger.limits);
    if (judged.refused) {
      await store.inTenant(scope, (tx) => this.#keepRefused(scope, tx, judged));
      return;
    }
    if (refusal !== undefined) throw refusal;
    const key = keyOf(judged);
    const work: Work = { ...judged.work, requestId: key };
    const executionId = randomUUID();
    const { seq } = await inbox.write({
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
    if (seq === undefined) return;
    this.#parts.measures.accepted('email');
    const row = { trigger_id: trigger.id, key, seq };
    runner.begin({ scope, triggerId: trigger.id, sessionId, executionId, work, row, attempts: 1, ageMs: 0 });
  }

  /** The same as part of a transaction; undefined where nothing is to be run. */
  async acceptWithin(
    scope: TenantScope,
    tx: TenantTransaction,
    judged: JudgedMail,
  ): Promise<Item | undefined> {
    if (judged.refused) {
      await this.#keepRefused(scope, tx, judged);
      return undefined;
    }
    const { trigger, messageId, thread, sessionId, work } = judged;
    if (!(await noteMail(scope, tx, { triggerId: trigger.id, messageId, thread }))) return undefined;
    const found = { triggerId: trigger.id, key: keyOf(judged), sessionId, work, keepMs };
    return putIntoInbox(scope, tx, this.#parts.seal, found);
  }

  async #keepRefused(
    scope: TenantScope,
    tx: TenantTransaction,
    { trigger, messageId, thread, sessionId, work }: JudgedMail,
  ): Promise<void> {
    if (!(await noteMail(scope, tx, { triggerId: trigger.id, messageId, thread }))) return;
    await insertEnded(scope, tx, {
      id: randomUUID(),
      agentId: trigger.agentId,
      sessionId,
      triggerId: trigger.id,
      channel: 'email',
      userId: null,
      message: work.message,
      status: 'blocked',
      error: null,
    });
  }
}

function keyOf({ messageId }: JudgedMail): string {
  return `mail:${messageId}`;
}

/** Entries are addresses, or `@` and a domain. */
function isAllowed({ allowed_senders: allowed }: EmailConfig, sender: string): boolean {
  if (allowed === undefined) return true;
  const domain = sender.slice(sender.lastIndexOf('@'));
  return allowed.some((entry) => [sender, domain].includes(entry.toLowerCase()));
}

function workOf({ mail, recipient }: ReceivedMail, sender: string, thread: string): Omit<Work, 'requestId'> {
  const { subject, attachments, senderName } = mail;
  const message = [writtenText(mail.text), subject, '(no text)'].find((text) => text !== '') ?? '';
  const references = [...(mail.references.length > 0 ? mail.references : mail.inReplyTo)].slice(
    -referencesKept,
  );
  return {
    message,
    context: {
      ...(subject === '' ? {} : { subject }),
      ...(attachments.length === 0 ? {} : { attachments: attachments.join(', ').slice(0, contextCharsMax) }),
    },
    consumerKey: sender,
    ...(senderName === undefined ? {} : { displayName: senderName }),
    reply: { to: sender, from: recipient },
    mail: { subject, thread, references, ...(mail.hasMessageId ? { messageId: mail.id } : {}) },
  };
}
