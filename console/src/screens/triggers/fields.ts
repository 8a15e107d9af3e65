import type { TriggerType } from './routes';

/** One setting of `trigger_config` as a field of a form. */
export interface SettingField {
  readonly path: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind: 'text' | 'area' | 'number' | 'check' | 'list' | 'choice' | 'secret' | 'database' | 'pairs';
  readonly options?: readonly (readonly [value: string, text: string])[];
  readonly placeholder?: string;
  readonly required?: boolean;
  /** Shown only while another setting has one of the values. */
  readonly when?: Condition;
  /** Hidden for channels, whose messages have a form of their own. */
  readonly notInChannels?: true;
}

export interface Condition {
  readonly path: string;
  readonly is: readonly unknown[];
}

export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly SettingField[];
}

const isAsync = { path: 'execution.mode', is: ['async'] };

const callback = (when?: Condition): FieldGroup => ({
  title: 'Answer by callback',
  fields: [
    {
      path: 'execution.callback.url',
      label: 'Callback address',
      kind: 'text',
      placeholder: 'https://example.com/answers',
      hint: 'The answer is sent there, signed and retried.',
      ...(when !== undefined && { when }),
    },
    {
      path: 'execution.callback.auth.type',
      label: 'Authentication of the callback',
      kind: 'choice',
      options: [
        ['', 'none'],
        ['bearer', 'Bearer token'],
        ['basic', 'User and password'],
        ['api_key', 'Key in a header'],
      ],
      ...(when !== undefined && { when }),
    },
    {
      path: 'execution.callback.auth.secret_ref',
      label: 'Secret of the callback',
      kind: 'secret',
      when: { path: 'execution.callback.auth.type', is: ['bearer', 'basic', 'api_key'] },
    },
    {
      path: 'execution.callback.send_failures',
      label: 'Send failures too',
      kind: 'check',
      ...(when !== undefined && { when }),
    },
  ],
});

const webhook: readonly FieldGroup[] = [
  {
    title: 'Who may send',
    fields: [
      {
        path: 'auth.type',
        label: 'Senders prove themselves by',
        kind: 'choice',
        options: [
          ['', 'a signature (HMAC)'],
          ['api_key', 'an API key of the tenant'],
          ['none', 'nothing'],
        ],
        when: { path: 'channel.type', is: [undefined] },
      },
      {
        path: 'channel.auth.secret_ref',
        label: 'Secret of the channel',
        kind: 'secret',
        required: true,
        when: { path: 'channel.type', is: ['twilio', 'whatsapp_cloud', 'slack'] },
      },
      {
        path: 'sender_access.mode',
        label: 'Senders',
        kind: 'choice',
        options: [
          ['', 'anybody'],
          ['members', 'members of the tenant'],
          ['whitelist', 'listed ones'],
        ],
      },
      {
        path: 'sender_access.identity_field',
        label: 'Field that names the sender',
        kind: 'text',
        placeholder: 'user.email',
        when: { path: 'sender_access.mode', is: ['members', 'whitelist'] },
      },
      {
        path: 'sender_access.identifiers',
        label: 'Listed senders',
        hint: 'Separated by commas.',
        kind: 'list',
        when: { path: 'sender_access.mode', is: ['whitelist'] },
      },
    ],
  },
  {
    title: 'What the agent gets',
    fields: [
      {
        path: 'query_extraction.mode',
        label: 'Message',
        kind: 'choice',
        options: [
          ['', 'a field of the payload'],
          ['jmespath', 'a JMESPath expression'],
          ['template', 'a template'],
          ['full_body', 'the whole payload'],
        ],
        when: { path: 'channel.type', is: [undefined] },
      },
      {
        path: 'query_extraction.field',
        label: 'Field of the message',
        kind: 'text',
        placeholder: 'message',
        notInChannels: true,
        when: { path: 'query_extraction.mode', is: [undefined, 'field'] },
      },
      {
        path: 'query_extraction.expression',
        label: 'Expression',
        kind: 'text',
        placeholder: 'event.text',
        when: { path: 'query_extraction.mode', is: ['jmespath'] },
      },
      {
        path: 'query_extraction.template',
        label: 'Template',
        kind: 'area',
        placeholder: 'Order {{ order.id }} of {{ customer.name }}: {{ text }}',
        when: { path: 'query_extraction.mode', is: ['template'] },
      },
      {
        path: 'context_mapping',
        label: 'Context',
        hint: 'A name, and the path of its value such as $.customer.id. Names that begin with _ are for tools only.',
        kind: 'pairs',
      },
      {
        path: 'session_strategy.mode',
        label: 'Conversation',
        kind: 'choice',
        options: [
          ['', 'a new one with each call'],
          ['derive', 'the same one for the same values'],
        ],
        when: { path: 'channel.type', is: [undefined] },
      },
      {
        path: 'session_strategy.fields',
        label: 'Fields that tell conversations apart',
        hint: 'Separated by commas, at most five.',
        kind: 'list',
        when: { path: 'session_strategy.mode', is: ['derive'] },
      },
    ],
  },
  {
    title: 'How it answers',
    fields: [
      {
        path: 'execution.mode',
        label: 'Answer',
        kind: 'choice',
        options: [
          ['', 'in the response'],
          ['async', 'later, by callback or channel'],
        ],
      },
      {
        path: 'response_adapter.format',
        label: 'Form of the response',
        kind: 'choice',
        options: [
          ['', 'as usual'],
          ['raw', 'raw'],
          ['erp', 'erp'],
          ['slack', 'slack'],
          ['teams', 'teams'],
          ['twiml', 'twiml'],
        ],
      },
      {
        path: 'execution.message_buffer.enabled',
        label: 'Gather messages that follow each other',
        hint: 'They run as one, once no further message comes.',
        kind: 'check',
        when: isAsync,
      },
      {
        path: 'execution.message_buffer.window_ms',
        label: 'Wait for further messages',
        hint: 'Milliseconds, 100 to 60,000.',
        placeholder: '5000',
        kind: 'number',
        when: { path: 'execution.message_buffer.enabled', is: [true] },
      },
    ],
  },
  callback(isAsync),
];

const schedule: readonly FieldGroup[] = [
  {
    title: 'When',
    fields: [
      {
        path: 'cron',
        label: 'Cron expression',
        kind: 'text',
        placeholder: '0 9 * * MON-FRI',
        hint: 'Minute, hour, day, month, weekday; with six fields the seconds are first.',
        required: true,
      },
      {
        path: 'timezone',
        label: 'Time zone',
        kind: 'text',
        placeholder: 'UTC',
        hint: 'Such as Europe/Berlin.',
      },
      {
        path: 'missed',
        label: 'A run that was missed',
        kind: 'choice',
        options: [
          ['', 'is skipped'],
          ['run_once', 'is made up once'],
        ],
      },
      { path: 'allow_overlap', label: 'May start while the one before still runs', kind: 'check' },
    ],
  },
  {
    title: 'What',
    fields: [{ path: 'message', label: 'Message to the agent', kind: 'area', required: true }],
  },
  callback(),
];

const email: readonly FieldGroup[] = [
  {
    title: 'Mailbox',
    fields: [
      {
        path: 'imap.host',
        label: 'IMAP server',
        kind: 'text',
        placeholder: 'imap.example.com',
        hint: 'Empty: the node itself receives mail for the address of the trigger.',
      },
      { path: 'imap.user', label: 'User', kind: 'text', when: { path: 'imap.host', is: ['*'] } },
      {
        path: 'imap.secret_ref',
        label: 'Secret with the password',
        kind: 'secret',
        when: { path: 'imap.host', is: ['*'] },
      },
      {
        path: 'imap.port',
        label: 'Port',
        kind: 'number',
        placeholder: '993',
        when: { path: 'imap.host', is: ['*'] },
      },
      {
        path: 'imap.mailbox',
        label: 'Folder',
        kind: 'text',
        placeholder: 'INBOX',
        when: { path: 'imap.host', is: ['*'] },
      },
    ],
  },
  {
    title: 'Senders and answers',
    fields: [
      {
        path: 'allowed_senders',
        label: 'Allowed senders',
        hint: 'Addresses, or @ and a domain, separated by commas. Empty: everybody.',
        kind: 'list',
      },
      {
        path: 'reply',
        label: 'Answer',
        kind: 'choice',
        options: [
          ['', 'as a reply in the thread'],
          ['false', 'not by mail'],
        ],
      },
    ],
  },
  callback(),
];

const databaseEvent: readonly FieldGroup[] = [
  {
    title: 'Table',
    fields: [
      { path: 'database_config_id', label: 'Database', kind: 'database', required: true },
      { path: 'table', label: 'Table', kind: 'text', placeholder: 'public.orders', required: true },
      {
        path: 'events',
        label: 'Rows',
        kind: 'choice',
        options: [
          ['', 'new ones'],
          ['["update"]', 'changed ones'],
          ['["insert","update"]', 'new and changed ones'],
        ],
      },
      {
        path: 'cursor_column',
        label: 'Column that rises',
        kind: 'text',
        placeholder: 'id',
        hint: 'With every new row; for changed rows also with every change.',
        required: true,
      },
      { path: 'poll_ms', label: 'Look every', kind: 'number', placeholder: '1000', hint: 'Milliseconds.' },
    ],
  },
  {
    title: 'What the agent gets',
    fields: [
      {
        path: 'message_template',
        label: 'Message',
        kind: 'area',
        placeholder: 'A new order {{ id }} of {{ customer }}',
        hint: '{{ column }} is the value of the row.',
        required: true,
      },
    ],
  },
  callback(),
];

export const fieldsOf: Readonly<Record<TriggerType, readonly FieldGroup[]>> = {
  webhook,
  schedule,
  email,
  db_event: databaseEvent,
};
