import { z } from 'zod';
import { refuseUnlessOneSecret, secretFields } from './fields.js';
import { sourceFields } from './source-fields.js';

const host = z.string().regex(/^[A-Za-z0-9.:-]{1,253}$/, { error: 'must be a host name or address' });
const sender = z.string().regex(/^(?:[^\s@]{1,64})?@[^\s@]{1,253}$/, {
  error: 'must be a mail address, or `@` and a domain',
});

export const emailConfig = z.object({
  ...sourceFields,
  address: z.email().max(320).optional(),
  imap: z
    .strictObject({
      host,
      port: z.int().min(1).max(65_535).default(993),
      user: z.string().min(1).max(320),
      mailbox: z.string().min(1).max(255).default('INBOX'),
      tls: z
        .boolean()
        .optional()
        .describe(
          'Whether TLS starts with the connection. Default: true at port 993, else STARTTLS is used.',
        ),
      ...secretFields,
    })
    .superRefine(refuseUnlessOneSecret)
    .optional()
    .describe('A mailbox to poll. Without it, the node receives mail for `<trigger_id>@<domain>`.'),
  allowed_senders: z.array(sender).max(1_000).optional(),
  reply: z.boolean().default(true).describe('Whether the answer is sent as a reply in the thread.'),
});

export type EmailConfig = z.output<typeof emailConfig>;
export type Imap = NonNullable<EmailConfig['imap']>;

const tlsPort = 993;

/** Otherwise TLS starts with STARTTLS. */
export function isTlsFromTheStart({ tls, port }: Pick<Imap, 'tls' | 'port'>): boolean {
  return tls ?? port === tlsPort;
}
