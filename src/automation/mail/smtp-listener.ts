import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { callbackify } from 'node:util';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { HotReads } from '../../infra/storage/index.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import type { MailReader, ReadMail } from '../mail-reading/mail-reader.js';
import { UnreadableMail } from '../mail-reading/parsed-mail.js';
import type { MailAddresses } from '../messages/mail-addresses.js';
import { IncomingBytes } from './incoming-bytes.js';
import { type EvaluatedMail, type MailIntake, type MailTrigger, mailTriggerOf } from './mail-intake.js';
import { mailBytesMax } from './mail-limits.js';
import { triggerForAddress } from '../triggers/mail-triggers.store.js';
import { shareOf, SmtpConnections } from './smtp-connections.js';

const connectionsMax = 100;
const recipientsMax = 100;
/** RFC 5321 limits a command line to 512 bytes; extensions make it longer. */
const commandBytesMax = 4 * 1024;
const silentMs = 60_000;
const closingMs = 2_000;

export interface SmtpListenerParts {
  readonly host: string;
  readonly port: number;
  /** Certificate and key in PEM; without them connections are not encrypted. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly reads: HotReads;
  readonly intake: Pick<MailIntake, 'evaluate' | 'unreadable' | 'accept'>;
  readonly addresses: Pick<MailAddresses, 'triggerIdIn' | 'claimant'>;
  readonly reader: Pick<MailReader, 'read'>;
  /** Whether mails must prove their sender. */
  readonly checksSenders: boolean;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

interface ServedConnection {
  readonly session: SMTPServerSession;
  close(): void;
}

/** A protocol response that refuses something. */
class SmtpRefusal extends Error {
  override readonly name = 'SmtpRefusal';
  readonly responseCode: number;

  constructor(responseCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.responseCode = responseCode;
  }
}

/**
 * Receives mail for triggers of type `email`. A recipient is checked when it is named. A mail is answered with 250 once
 * it is committed for every recipient, else with a temporary error, so that its sender tries again. A repeat is
 * recognised by its Message-ID.
 */
export class SmtpListener {
  readonly #parts: SmtpListenerParts;
  readonly #server: SMTPServer;
  readonly #connections: SmtpConnections;
  readonly #bytes = new IncomingBytes();

  constructor(parts: SmtpListenerParts) {
    this.#parts = parts;
    this.#connections = new SmtpConnections(parts.time, (id) => this.#end(id));
    this.#server = new SMTPServer({
      ...parts.tls,
      authOptional: true,
      disabledCommands: parts.tls === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
      disableReverseLookup: true,
      logger: commandCounter((id) => this.#connections.countCommand(id)),
      banner: 'Troupe',
      size: mailBytesMax,
      maxCommandLength: commandBytesMax,
      maxRecipients: recipientsMax,
      maxClients: connectionsMax,
      socketTimeout: silentMs,
      closeTimeout: closingMs,
      onConnect: (session, callback) => callback(this.#enter(session)),
      onClose: ({ id }) => this.#connections.leave(id),
      onMailFrom: (_address, { id }, callback) =>
        callback(this.#connections.countMail(id) ? null : new SmtpRefusal(421, 'Too many mails at once')),
      onRcptTo: ({ address }, session, callback) =>
        callbackify(() => this.#refusing(this.#judgeRecipient(address, session)))(callback),
      onData: (stream, session, callback) =>
        callbackify(() => this.#refusing(this.#take(stream, session)))(callback),
    });
    this.#server.on('error', (error) => {
      // Errors of one connection carry its address. Its sender got no 250 and will try again.
      if (Reflect.get(error, 'remoteAddress') === undefined) parts.report('receiving mail', error);
    });
  }

  async start(): Promise<void> {
    const { host, port } = this.#parts;
    const listening = once(this.#server.server, 'listening');
    this.#server.listen(port, host);
    await listening;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#connections.leaveAll();
  }

  #enter({ id, remoteAddress }: SMTPServerSession): Error | null {
    return this.#connections.enter(id, remoteAddress) ? null : new SmtpRefusal(421, 'Too many connections');
  }

  #end(id: string): void {
    for (const connection of this.#server.connections as ReadonlySet<ServedConnection>) {
      if (connection.session.id === id) connection.close();
    }
  }

  async #judgeRecipient(address: string, { id, envelope }: SMTPServerSession): Promise<void> {
    if (envelope.rcptTo.length >= recipientsMax) throw new SmtpRefusal(452, 'Too many recipients');
    if ((await this.#triggerOf(address)) !== undefined) return;
    this.#connections.countUnknownRecipient(id);
    throw new SmtpRefusal(550, 'No such recipient');
  }

  /** By the trigger's id before the domain of triggers, or by an address that its tenant may claim. */
  async #triggerOf(address: string): Promise<MailTrigger | undefined> {
    const { live, reads, addresses } = this.#parts;
    const spelled = address.toLowerCase();
    const id = addresses.triggerIdIn(spelled);
    const byId = id === undefined ? undefined : await live.get(id);
    const claimed =
      byId === undefined
        ? await triggerForAddress(reads, spelled, await addresses.claimant(spelled))
        : undefined;
    const found = mailTriggerOf(byId ?? (claimed === undefined ? undefined : await live.get(claimed)));
    if (found === undefined || !found.trigger.enabled) return undefined;
    // The sender's server tries again for days; a resumed tenant loses no mail.
    if (found.trigger.suspended) throw new SmtpRefusal(451, 'The recipient is suspended, try again later');
    return found.config.imap === undefined ? found : undefined;
  }

  async #take(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const { intake } = this.#parts;
    const collected = await this.#bytes
      .collect(stream, shareOf(session.remoteAddress), () => this.#end(session.id))
      .catch((cause: unknown) => {
        throw new SmtpRefusal(451, 'The mail was broken off', { cause });
      });
    if ('refused' in collected) {
      throw collected.refused === 'too-large'
        ? new SmtpRefusal(552, 'The message is too large')
        : new SmtpRefusal(452, 'Too many mails at once, try again later');
    }
    try {
      const evaluated = await this.#evaluate(collected.raw, session);
      await Promise.all(evaluated.map((one) => intake.accept(one)));
    } finally {
      collected.release();
    }
  }

  async #evaluate(
    raw: Buffer,
    { envelope, ...session }: SMTPServerSession,
  ): Promise<readonly EvaluatedMail[]> {
    const { intake } = this.#parts;
    const digest = createHash('sha256').update(raw).digest('hex');
    const mailFrom = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
    // Deleted or disabled since it was named: no recipient is left.
    const wanted = await Promise.all(
      envelope.rcptTo.map(async ({ address }) => {
        const found = await this.#triggerOf(address);
        return found === undefined ? [] : [{ found, recipient: address.toLowerCase() }];
      }),
    );
    const recipients = wanted.flat();
    const [first] = recipients;
    if (first === undefined) return [];
    const read = await this.#read(raw, {
      ...session,
      mailFrom,
      tenantId: first.found.trigger.scope.tenantId,
    });
    const evaluated = await Promise.all(
      recipients.map(async ({ found, recipient }) =>
        read instanceof UnreadableMail
          ? intake.unreadable(found, digest, read.message)
          : intake.evaluate(found, { ...read, digest, recipient, returnPath: mailFrom }),
      ),
    );
    return evaluated.filter((one) => one !== undefined);
  }

  /**
   * The mail is read once for all recipients; each one records a fault of the mail. A mail that took too long is refused
   * for now: its sender tries again, and learns of it when it gives up.
   */
  async #read(
    raw: Buffer,
    from: Pick<SMTPServerSession, 'remoteAddress' | 'hostNameAppearsAs'> & {
      readonly mailFrom: string;
      readonly tenantId: string;
    },
  ): Promise<ReadMail | UnreadableMail> {
    const { reader, checksSenders } = this.#parts;
    const { remoteAddress: ip, hostNameAppearsAs: helo, mailFrom, tenantId } = from;

    try {
      const read = await reader.read(
        tenantId,
        raw,
        checksSenders ? { by: 'smtp', ip, helo, mailFrom } : undefined,
      );
      if (read.verdict === 'undecided')
        throw new SmtpRefusal(451, 'Your domain cannot be looked up, try again later');
      return read;
    } catch (error) {
      if (error instanceof UnreadableMail) return error;
      throw error;
    }
  }

  /** Failures become protocol responses that reveal nothing internal to the peer. */
  async #refusing(attempt: Promise<void>): Promise<void> {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof SmtpRefusal) throw error;
      const isOrdinary = error instanceof PlatformError && error.code !== 'service_unavailable';
      if (!isOrdinary) this.#parts.report('receiving a mail', error);
      throw new SmtpRefusal(451, 'Not now, try again later');
    }
  }
}

/** The server logs each command, which is the only hook that sees all of them. */
function commandCounter(count: (id: string) => void) {
  const hear = (entry: unknown): void => {
    if (typeof entry !== 'object' || entry === null || Reflect.get(entry, 'tnx') !== 'command') return;
    count(String(Reflect.get(entry, 'cid')));
  };
  const silent = (): void => undefined;
  return { trace: silent, debug: hear, info: silent, warn: silent, error: silent, fatal: silent };
}
