// Mail for triggers, sent as people's mail programs do, and how each is answered.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestFn } from 'ava';
import { type ParsedMail, simpleParser } from 'mailparser';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { freePort } from './free-port.js';
import { startTestNode, type TenantNode, type TestNode, type TestNodeOptions } from './node.js';
import { type NodeOptions, sharedNode } from './shared-node.js';

export interface MailNode extends TestNode {
  readonly mailPort: number;
}

export interface SharedMailNode {
  tenant(t: { readonly title: string }): Promise<TenantNode & Pick<MailNode, 'mailPort'>>;
}

/** A node for all tests of the file, which takes mail. */
export function sharedMailNode<Context>(
  test: TestFn<Context>,
  options: NodeOptions = () => ({}),
): SharedMailNode {
  let mailPort = 0;
  const shared = sharedNode(test, async (atEnd) => {
    const { environment, ...others } = await options(atEnd);
    mailPort = await freePort();
    return { ...others, environment: { TROUPE_SMTP_IN_PORT: String(mailPort), ...environment } };
  });
  return { tenant: async (t) => ({ ...(await shared.tenant(t)), mailPort }) };
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

/** The mails that the node wrote to its outbox for the trigger: each carries the trigger's own address. */
export async function answersOf(
  { dataDir }: TenantNode,
  trigger: { readonly id: string },
): Promise<readonly ParsedMail[]> {
  const folder = join(dataDir, 'outbox');
  // The folder is made with the first mail.
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml')).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return Promise.all(texts.filter((text) => text.includes(trigger.id)).map((text) => simpleParser(text)));
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
