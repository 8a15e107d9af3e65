// Mail for triggers, sent as people's mail programs do, and how each is answered.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { startTestNode, type TestNode } from './node.js';

export interface MailNode extends TestNode {
  readonly mailPort: number;
}

let nextPort = 20_000 + (process.pid % 1_000) * 10;

/** Below the ports that the system hands out by itself: nodes of other tests that start meanwhile do not take it. */
export async function freeMailPort(): Promise<number> {
  for (;;) {
    const port = nextPort++;
    const server = createServer();
    const isFree = Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]);
    server.listen(port, '127.0.0.1');
    if (!(await isFree)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** A whole node that takes mail. */
export async function startMailNode(
  t: { teardown(fn: () => Promise<void>): void },
  environment: Readonly<Record<string, string>> = {},
): Promise<MailNode> {
  const mailPort = await freeMailPort();
  const node = await startTestNode(t, {
    environment: { TROUPE_SMTP_IN_PORT: String(mailPort), ...environment },
  });
  return { ...node, mailPort };
}

/** The code that the mail, or its first recipient, was answered with. */
export async function sendMail(port: number, mail: SendMailOptions): Promise<number> {
  const transport = createTransport({ host: '127.0.0.1', port, secure: false, ignoreTLS: true });
  try {
    const { response } = await transport.sendMail({ from: 'Ada Lovelace <Ada@Example.com>', ...mail });
    return Number.parseInt(response, 10);
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'responseCode') : undefined;
    if (typeof code === 'number') return code;
    throw error;
  } finally {
    transport.close();
  }
}
