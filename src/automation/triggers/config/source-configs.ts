import { z } from 'zod';
import { sourceExecution, splitConfigOf } from './execution-config.js';
import { refuseUnlessOneSecret, secretFields } from './fields.js';

const messageCharsMax = 100_000;
const contextBytesMax = 16 * 1024;
const configBytesMax = 512 * 1024;
/**
 * Can only shorten the deadline. Values that are not numbers or are below 1000 are ignored, so every value is valid
 * here.
 */
const timeouts = {
  timeout_ms: z.unknown().optional().describe('Milliseconds. Can only shorten the deadline.'),
  execution: sourceExecution
    .prefault({})
    .transform((run) => ({ ...run, split_config: splitConfigOf(run.split_config) })),
};
const scalar = z.union([z.string().max(2_000), z.number(), z.boolean()]);

/** `trigger_config` of a schedule. The cron expression itself is validated by `CronLine`. */
export const scheduleConfig = z.object({
  ...timeouts,
  cron: z.string().min(1).max(200).describe('Five fields, or six with the seconds first.'),
  timezone: z.string().min(1).max(100).default('UTC').describe('A name of the IANA time zone database.'),
  message: z.string().min(1).max(messageCharsMax),
  context: z
    .record(z.string().min(1).max(128), scalar)
    .refine((context) => Object.keys(context).length <= 50, 'has more than 50 names')
    .refine(
      (context) => Buffer.byteLength(JSON.stringify(context)) <= contextBytesMax,
      `has more than ${contextBytesMax} bytes as JSON`,
    )
    .default({}),
  missed: z
    .enum(['skip', 'run_once'])
    .default('skip')
    .describe('What to do about runs of the last 24 hours that no node was running for.'),
  allow_overlap: z
    .boolean()
    .default(false)
    .describe('Whether a run may start while the previous one is still running.'),
});

export type ScheduleConfig = z.output<typeof scheduleConfig>;

const host = z.string().regex(/^[A-Za-z0-9.:-]{1,253}$/, { error: 'must be a host name or address' });
const sender = z.string().regex(/^(?:[^\s@]{1,64})?@[^\s@]{1,253}$/, {
  error: 'must be a mail address, or `@` and a domain',
});

export const emailConfig = z.object({
  ...timeouts,
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

const tlsPort = 993;

/** Otherwise TLS starts with STARTTLS. */
export function isTlsFromTheStart({
  tls,
  port,
}: Pick<NonNullable<EmailConfig['imap']>, 'tls' | 'port'>): boolean {
  return tls ?? port === tlsPort;
}

const identifier = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/, { error: 'must be the name of a column' });
const tableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}(?:\.[A-Za-z_][A-Za-z0-9_$]{0,62})?$/, {
  error: 'must be the name of a table, as schema.table if the schema is not public',
});

export const databaseEventConfig = z.object({
  ...timeouts,
  database_config_id: z.guid(),
  table: tableName,
  events: z
    .array(z.enum(['insert', 'update']))
    .min(1)
    .max(2)
    .default(['insert']),
  cursor_column: identifier.describe(
    'A column that increases with every new row; for `update` also with every change.',
  ),
  created_column: identifier
    .optional()
    .describe(
      'For `update` only: a number or time that increases with each new row and never changes within a row. It tells ' +
        'new rows from changed ones. Default: the primary key if it is a single integer; without either, a new ' +
        'row counts as changed.',
    ),
  channel: identifier.optional().describe('A notification channel of the database that wakes the poll.'),
  filter: z
    .record(identifier, z.union([z.string().max(2_000), z.number(), z.boolean(), z.null()]))
    .refine((filter) => Object.keys(filter).length <= 20, 'has more than 20 columns')
    .optional(),
  poll_ms: z.int().min(100).max(3_600_000).default(1_000),
  message_template: z
    .string()
    .min(1)
    .max(20_000)
    .describe('May contain `{{ column }}` for columns of the row.'),
});

export type DatabaseEventConfig = z.output<typeof databaseEventConfig>;

/** Bounds the size of any configuration, since it is read again with every change of its trigger. */
export const anyConfig = z
  .record(z.string(), z.unknown())
  .refine(
    (config) => Buffer.byteLength(JSON.stringify(config)) <= configBytesMax,
    `has more than ${configBytesMax} bytes as JSON`,
  );
