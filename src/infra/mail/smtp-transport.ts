import { createTransport } from 'nodemailer';
import { answersAtOnce, MailError, type MailTransport, messageOf, queuedAtOnce } from './transport.js';

/**
 * Sends mails to another mail server. These bound its silence; the signal of an attempt bounds the whole, since a server
 * that answers byte by byte is never silent.
 */
const connectionTimeoutMs = 10_000;
const greetingTimeoutMs = 10_000;
const socketTimeoutMs = 30_000;
/** No mail waits for a connection, which would use up the time of its attempt. */
const connectionsMax = queuedAtOnce + answersAtOnce.all;
/** An answer of the server has a few lines; the library would accept a megabyte. */
const responseBytesMax = 64 * 1024;

/** Signs in at the mail server as for a mail; used by `troupe doctor`. */
export async function examineMailServer(smtpUrl: string): Promise<void> {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: connectionTimeoutMs,
    greetingTimeout: greetingTimeoutMs,
    socketTimeout: greetingTimeoutMs,
    dnsTimeout: connectionTimeoutMs,
    maxResponseSize: responseBytesMax,
  });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

export function createSmtpTransport(smtpUrl: string): MailTransport {
  const transport = createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: connectionsMax,
    connectionTimeout: connectionTimeoutMs,
    greetingTimeout: greetingTimeoutMs,
    socketTimeout: socketTimeoutMs,
    dnsTimeout: connectionTimeoutMs,
    maxResponseSize: responseBytesMax,
  });
  return {
    async send(mail, signal) {
      try {
        await transport.sendMail({ ...messageOf(mail), signal });
      } catch (cause) {
        throw mailErrorFrom(cause);
      }
    },
    async close() {
      transport.close({ force: true });
    },
  };
}

/** Only a refusal of this particular mail is final; a wrong password or a missing certificate can be fixed. */
function mailErrorFrom(cause: unknown): MailError {
  if (!(cause instanceof Error)) return new MailError('The mail server failed.', { final: false, cause });
  const code: unknown = Reflect.get(cause, 'code');
  const responseCode: unknown = Reflect.get(cause, 'responseCode');
  const refused = typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600;
  const final = refused && (code === 'EENVELOPE' || code === 'EMESSAGE');
  return new MailError(`The mail server did not accept the mail: ${cause.message}`, { final, cause });
}
