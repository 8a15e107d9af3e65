import type { Ids } from '../../kernel/chance.js';
import type { Platform } from '../platform/index.js';
import type { Sealer } from '../sealing/index.js';
import type { Transaction } from '../storage/index.js';
import type { ClaimedWork } from '../claims/index.js';
import { insertMail, lockWaitingMails, mailClaims, replaceSealedContent } from './mails.store.js';
import { createOutboxFolder } from './outbox-folder.js';
import { createSmtpTransport } from './smtp-transport.js';
import { MailError, type MailTransport, type OutgoingMail, sendWithin } from './transport.js';
import { mailPlace, MailWorker } from './worker.js';

export { examineMailServer } from './smtp-transport.js';
export { escapeHtml, type MailParts, renderMail } from './template.js';
export { answersAtOnce, MailError, type OutgoingMail } from './transport.js';

export interface MailOptions {
  readonly sealer: Sealer;
  /** The mail server for outgoing mail; without it, mails are written to files in `outboxFolder`. */
  readonly smtpUrl?: string | undefined;
  readonly outboxFolder: string;
  /** The product's URL, whose host is the sender's domain; known once the node listens. */
  readonly publicUrl: () => string;
  /** Whether this process may start an outside effect right now; always, if omitted. */
  readonly mayAct?: () => boolean;
}

export interface MailToSend {
  /** Null for a mail about an account; only a directory transaction may queue it. */
  readonly tenantId: string | null;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The same content as HTML. */
  readonly html?: string | undefined;
}

export interface Mail {
  /** Starts sending, once the public URL is known. Until then mails only wait. */
  start(): void;
  /** Queues a mail in the transaction of its cause. Returns the id. */
  queue(tx: Transaction, mail: MailToSend): Promise<string>;
  /** To be called after that transaction: sends at once instead of at the next poll. */
  wake(): void;
  /**
   * Sends a mail once, now, for callers that store and retry it themselves. `answersAtOnce` bounds how many they send at
   * the same time. Rejects with `MailError`, also if the mail server has not taken the mail within the time, or with the
   * reason of `signal`. The same id and date produce the same mail.
   */
  send(mail: OutgoingMail, withinMs: number, signal?: AbortSignal): Promise<void>;
  /** The claims on mails, for when a process has gone. */
  readonly claims: ClaimedWork;
  /** Seals waiting mails again under the current master key. Call it only after every node has that key. */
  reseal(): Promise<void>;
  close(): Promise<void>;
}

/** Outgoing mail. */
export function createMail(
  platform: Pick<Platform, 'store' | 'time' | 'ids' | 'random' | 'log'>,
  options: MailOptions,
): Mail {
  const { store, time, ids, random, log } = platform;
  const { sealer, publicUrl, mayAct = () => true } = options;
  // A mail was not sent, or the store was unavailable.
  const onProblem = (error: unknown): void => log.report('sending mails', error);
  const from = (): string => `Troupe <no-reply@${hostOf(publicUrl())}>`;
  let worker: MailWorker | undefined;
  let transport: MailTransport | undefined;

  return {
    start() {
      transport ??= transportOf(options, ids);
      worker ??= new MailWorker({ store, sealer, transport, from, time, random, mayAct, onProblem });
    },
    async queue(tx, { tenantId, to, subject, text, html }) {
      const id = ids.uuid();
      const content = Buffer.from(JSON.stringify({ subject, text, html }));
      await insertMail(tx, {
        tenantId,
        id,
        messageId: `<${id}@${hostOf(publicUrl())}>`,
        recipient: to,
        sealedContent: sealer.seal(content, mailPlace(tenantId, id)),
      });
      return id;
    },
    wake: () => worker?.wake(),
    claims: { table: mailClaims, sweepNow: () => worker?.wake() },
    async send(outgoing, withinMs, signal) {
      if (transport === undefined)
        throw new MailError('Mail cannot be sent before the node has started.', { final: false });
      await sendWithin(time, withinMs, transport, outgoing, signal);
    },
    async reseal() {
      await store.directory(async (tx) => {
        for (const mail of await lockWaitingMails(tx)) {
          if (!sealer.isStale(mail.sealed_content)) continue;
          const place = mailPlace(mail.tenant_id, mail.id);
          const sealedContent = sealer.seal(sealer.open(mail.sealed_content, place), place);
          await replaceSealedContent(tx, { tenantId: mail.tenant_id, id: mail.id, sealedContent });
        }
      });
    },
    close: async () => worker?.close(),
  };
}

function transportOf({ smtpUrl, outboxFolder }: MailOptions, ids: Ids): MailTransport {
  return smtpUrl === undefined ? createOutboxFolder(outboxFolder, ids) : createSmtpTransport(smtpUrl);
}

/** The host of the product as a mail domain: a domain name, or an address literal in brackets. */
export function hostOf(publicUrl: string): string {
  const { hostname } = new URL(publicUrl);
  if (hostname.startsWith('[')) return `[IPv6:${hostname.slice(1, -1)}]`;
  return /^[0-9.]+$/.test(hostname) ? `[${hostname}]` : hostname;
}
