import { once } from 'node:events';
import { Transform, type TransformCallback } from 'node:stream';
import { callbackify } from 'node:util';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Time, Timer } from '../../../cluster/index.js';
import { PlatformError } from '../../errors.js';
import type { HotReads } from '../../storage/index.js';
import type { LiveTriggers } from '../live-triggers.js';
import { type MailIntake, type MailTrigger, mailTriggerOf } from './mail-intake.js';
import { triggerForAddress } from './mails.store.js';
import { parseMail } from './parse-mail.js';

export const mailBytesMax = 10 * 1024 * 1024;
const connectionsMax = 100;
const connectionsOfOneMax = 20;
const recipientsMax = 100;
const silentMs = 60_000;
/** Of a whole connection: whoever sends a byte now and then gives his place up too. */
const connectionMs = 600_000;
const closingMs = 2_000;

export interface SmtpListenerParts {
  readonly host: string;
  readonly port: number;
  /** Certificate and key in PEM; without them nothing is encrypted. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly live: LiveTriggers;
  readonly reads: HotReads;
  readonly intake: Pick<MailIntake, 'judge' | 'accept'>;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

interface ServedConnection {
  readonly session: SMTPServerSession;
  close(): void;
}

/** An answer of the protocol that refuses something. */
class SmtpRefusal extends Error {
  override readonly name = 'SmtpRefusal';
  readonly responseCode: number;

  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}

/**
 * Takes mail for triggers of type `email`. A recipient is judged when it is named; a mail is answered with 250 once it
 * is committed for every recipient, else with a code that lets its sender come again. What comes again is known by its
 * Message-ID.
 */
export class SmtpListener {
  readonly #parts: SmtpListenerParts;
  readonly #server: SMTPServer;
  /** Connections that are open, each with the timer that ends it. */
  readonly #open = new Map<SMTPServerSession, Timer>();

  constructor(parts: SmtpListenerParts) {
    this.#parts = parts;
    this.#server = new SMTPServer({
      ...parts.tls,
      authOptional: true,
      disabledCommands: parts.tls === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
      disableReverseLookup: true,
      logger: false,
      banner: 'Troupe',
      size: mailBytesMax,
      maxClients: connectionsMax,
      socketTimeout: silentMs,
      closeTimeout: closingMs,
      onConnect: (session, callback) => callback(this.#enter(session)),
      onClose: (session) => this.#leave(session),
      onRcptTo: ({ address }, session, callback) =>
        callbackify(() => this.#refusing(this.#judgeRecipient(address, session)))(callback),
      onData: (stream, session, callback) =>
        callbackify(() => this.#refusing(this.#take(stream, session)))(callback),
    });
    this.#server.on('error', (error) => {
      // A peer that breaks off or speaks badly is its own trouble; it was told nothing that is not so.
      if (Reflect.get(error, 'remote') === undefined) parts.report('taking mail', error);
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
    for (const session of this.#open.keys()) this.#leave(session);
  }

  #enter(session: SMTPServerSession): Error | null {
    const ofOne = [...this.#open.keys()].filter(
      ({ remoteAddress }) => remoteAddress === session.remoteAddress,
    );
    if (ofOne.length >= connectionsOfOneMax) return new SmtpRefusal(421, 'Too many connections');
    this.#open.set(
      session,
      this.#parts.time.after(connectionMs, () => this.#end(session)),
    );
    return null;
  }

  /** Told by the session: sockets change hands when they are encrypted. */
  #leave(session: SMTPServerSession): void {
    this.#open.get(session)?.cancel();
    this.#open.delete(session);
  }

  #end(session: SMTPServerSession): void {
    for (const connection of this.#server.connections as ReadonlySet<ServedConnection>) {
      if (connection.session === session) connection.close();
    }
  }

  async #judgeRecipient(address: string, { envelope }: SMTPServerSession): Promise<void> {
    if (envelope.rcptTo.length >= recipientsMax) throw new SmtpRefusal(452, 'Too many recipients');
    if ((await this.#triggerOf(address)) === undefined) throw new SmtpRefusal(550, 'No such recipient');
  }

  /** By the trigger's own address, or its id before any domain. */
  async #triggerOf(address: string): Promise<MailTrigger | undefined> {
    const { live, reads } = this.#parts;
    const spelled = address.toLowerCase();
    const byId = await live.get(spelled.slice(0, Math.max(0, spelled.lastIndexOf('@'))));
    const claimed = byId === undefined ? await triggerForAddress(reads, spelled) : undefined;
    const found = mailTriggerOf(byId ?? (claimed === undefined ? undefined : await live.get(claimed)));
    if (found === undefined || !found.trigger.enabled) return undefined;
    return found.config.imap === undefined ? found : undefined;
  }

  async #take(stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<void> {
    const { intake } = this.#parts;
    const bounded = new Bounded();
    stream.on('error', (error) => bounded.destroy(error));
    const mail = await parseMail(stream.pipe(bounded));
    if (stream.sizeExceeded || bounded.exceeded) throw new SmtpRefusal(552, 'The message is too large');
    const returnPath = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
    const judged = await Promise.all(
      envelope.rcptTo.map(async ({ address }) => {
        // Deleted or switched off since it was named: nobody is left who wants the mail.
        const found = await this.#triggerOf(address);
        return found && intake.judge(found, { mail, recipient: address.toLowerCase(), returnPath });
      }),
    );
    await Promise.all(judged.filter((one) => one !== undefined).map((one) => intake.accept(one)));
  }

  /** What fails is told to the peer as an answer of the protocol; it never learns of the inside. */
  async #refusing(attempt: Promise<void>): Promise<void> {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof SmtpRefusal) throw error;
      const isOrdinary = error instanceof PlatformError && error.code !== 'service_unavailable';
      if (!isOrdinary) this.#parts.report('taking a mail', error);
      throw new SmtpRefusal(451, 'Not now, try again later');
    }
  }
}

/** Lets so many bytes through and swallows the rest, which the protocol wants to be read before the refusal. */
class Bounded extends Transform {
  exceeded = false;
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#bytes += chunk.byteLength;
    this.exceeded ||= this.#bytes > mailBytesMax;
    callback(null, this.exceeded ? undefined : chunk);
  }
}
