import type { Random, Time } from '../../../cluster/index.js';
import type { Sealer } from '../sealing/index.js';
import type { Store, Transaction } from '../storage/index.js';
import { insertMail, lockWaitingMails, replaceSealedContent } from './mails.store.js';
import { createOutboxFolder } from './outbox-folder.js';
import { createSmtpTransport } from './smtp-transport.js';
import { MailError, type MailTransport, type OutgoingMail } from './transport.js';
import { mailContext, MailWorker } from './worker.js';

export { examineMailServer } from './smtp-transport.js';
export { MailError, type OutgoingMail } from './transport.js';

export interface MailDependencies {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly time: Time;
  readonly random: Random;
  readonly newId: () => string;
  /** Where mails are handed to; without it they become files in `outboxFolder`. */
  readonly smtpUrl?: string | undefined;
  readonly outboxFolder: string;
  /** The address of the product, whose host mails come from; known once the node listens. */
  readonly publicUrl: () => string;
  /** Hears why a mail did not go out, or that the store was away. */
  readonly onProblem: (error: unknown) => void;
}

export interface MailToSend {
  readonly tenantId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mail {
  /** Begins to send, once it is known where the product is reached. Until then mails only wait. */
  start(): void;
  /** Queues a mail in the transaction of what it tells of. Answers its id. */
  queue(tx: Transaction, mail: MailToSend): Promise<string>;
  /** After that transaction: sends at once rather than at the next look. */
  wake(): void;
  /**
   * Hands a mail over once, now, for whoever keeps and repeats it by himself. Rejects with `MailError`. The same id and
   * date again are the same mail.
   */
  send(mail: OutgoingMail): Promise<void>;
  /** Seals waiting mails anew under the current master key. Not before every node knows it. */
  reseal(): Promise<void>;
  close(): Promise<void>;
}

/** Mail on its way out. */
export function createMail(dependencies: MailDependencies): Mail {
  const { store, sealer, time, random, newId, publicUrl, onProblem } = dependencies;
  const from = (): string => `Troupe <no-reply@${hostOf(publicUrl())}>`;
  let worker: MailWorker | undefined;
  let transport: MailTransport | undefined;

  return {
    start() {
      transport ??= transportOf(dependencies);
      worker ??= new MailWorker({ store, sealer, transport, from, time, random, onProblem });
    },
    async queue(tx, { tenantId, to, subject, text }) {
      const id = newId();
      const content = Buffer.from(JSON.stringify({ subject, text }));
      await insertMail(tx, {
        tenantId,
        id,
        messageId: `<${id}@${hostOf(publicUrl())}>`,
        recipient: to,
        sealedContent: sealer.seal(content, mailContext(tenantId, id)),
        queuedAt: new Date(time.wallMs()),
      });
      return id;
    },
    wake: () => worker?.wake(),
    async send(outgoing) {
      if (transport === undefined) throw new MailError('Mail is not sent yet.', { final: false });
      await transport.send(outgoing);
    },
    async reseal() {
      await store.directory(async (tx) => {
        for (const mail of await lockWaitingMails(tx)) {
          if (!sealer.isStale(mail.sealed_content)) continue;
          const context = mailContext(mail.tenant_id, mail.id);
          const sealedContent = sealer.seal(sealer.open(mail.sealed_content, context), context);
          await replaceSealedContent(tx, { tenantId: mail.tenant_id, id: mail.id, sealedContent });
        }
      });
    },
    close: async () => worker?.close(),
  };
}

function transportOf({ smtpUrl, outboxFolder }: MailDependencies): MailTransport {
  return smtpUrl === undefined ? createOutboxFolder(outboxFolder) : createSmtpTransport(smtpUrl);
}

/** The host of the product as it stands in an address, which needs a domain, or a literal in brackets. */
export function hostOf(publicUrl: string): string {
  const { hostname } = new URL(publicUrl);
  if (hostname.startsWith('[')) return `[IPv6:${hostname.slice(1, -1)}]`;
  return /^[0-9.]+$/.test(hostname) ? `[${hostname}]` : hostname;
}
