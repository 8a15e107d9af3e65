// Mail for triggers, sent as people's mail programs do, and how each is answered.
import { createTransport, type SendMailOptions } from 'nodemailer';
import { freePort } from './free-port.js';
import { startTestNode, type TestNode, type TestNodeOptions } from './node.js';

export interface MailNode extends TestNode {
  readonly mailPort: number;
}

/** A whole node that takes mail. */
export async function startMailNode(
  t: { teardown(fn: () => Promise<void>): void },
  environment: Readonly<Record<string, string>> = {},
  options: Pick<TestNodeOptions, 'lookUp'> = {},
): Promise<MailNode> {
  const mailPort = await freePort();
  const node = await startTestNode(t, {
    ...options,
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
