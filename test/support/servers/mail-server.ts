// A real SMTP server on loopback that stores accepted mails, and refuses those that the test names.
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';

export interface MailServer {
  readonly url: string;
  readonly taken: readonly string[];
  /** The SMTP code with which recipients are refused; undefined takes all. */
  refuseWith: number | undefined;
  /** Runs when a mail was accepted, before the client gets the answer. */
  onTaken: () => void;
  attempts: number;
  close(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const taken: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, callback) {
      mailServer.attempts += 1;
      if (mailServer.refuseWith === undefined) return callback();
      return callback(Object.assign(new Error('not now'), { responseCode: mailServer.refuseWith }));
    },
    onData(stream, _session, callback) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        taken.push(Buffer.concat(parts).toString());
        mailServer.onTaken();
        callback();
      });
    },
  });
  // Connections that tests break off are reported here.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('The mail server listens on TCP');
  const mailServer: MailServer = {
    url: `smtp://127.0.0.1:${address.port}`,
    taken,
    refuseWith: undefined,
    onTaken: () => undefined,
    attempts: 0,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return mailServer;
}
