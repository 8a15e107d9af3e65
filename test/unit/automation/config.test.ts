import test from 'ava';
import { textOfPlace } from '../../../src/tenancy/vault/index.js';
import { createEgress } from '../../../src/infra/egress/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import {
  checkOutbound,
  checkSettings,
  destinationsOf,
  parseTriggerConfig,
  withoutNulls,
} from '../../../src/automation/triggers/config/trigger-config.js';
import type { TriggerType } from '../../../src/automation/triggers/types/registry.js';

type Given = Record<string, unknown>;

function fieldRefused(type: TriggerType, given: Given): unknown {
  try {
    parseTriggerConfig(type, given);
    return undefined;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return error.status === 400 ? error.details?.['field'] : error.code;
  }
}

test('an empty configuration of a webhook has the documented defaults', (t) => {
  t.like(parseTriggerConfig('webhook', {}).config, {
    auth: { type: 'signature', require_timestamp: false },
    query_extraction: undefined,
    context_mapping: {},
    response_adapter: { format: 'raw' },
    session_strategy: { mode: 'ephemeral' },
    sender_access: { mode: 'any', match_column: 'email', resolve_user: false },
    execution: {
      mode: 'sync',
      split_config: {
        enabled: false,
        max_chunk_size: 1_500,
        max_chunks: 10,
        chunk_strategy: 'paragraph',
        numbering: true,
        inter_chunk_delay_ms: 500,
      },
      message_buffer: { enabled: false, window_ms: 5_000, max_messages: 10, concat_separator: '\n' },
    },
  });
});

test('defaults that depend on other fields are filled in', (t) => {
  t.like(parseTriggerConfig('webhook', { channel: { type: 'twilio' } }).config, {
    session_strategy: { mode: 'derive' },
    response_adapter: { format: 'twiml' },
  });
  const shortForms = { split_messages: true, max_messages: 3 };
  t.like(parseTriggerConfig('webhook', { response_adapter: { format: 'erp', ...shortForms } }).config, {
    execution: { split_config: { enabled: true, max_chunks: 3 } },
  });
  t.like(
    parseTriggerConfig('webhook', {
      response_adapter: shortForms,
      execution: { split_config: { enabled: false, max_chunks: 7 } },
    }).config,
    { execution: { split_config: { enabled: false, max_chunks: 7 } } },
    'split_config wins',
  );
  t.like(parseTriggerConfig('webhook', { query_extraction: { field: 'a.b' } }).config, {
    query_extraction: { mode: 'field', field: 'a.b' },
  });
  const callback = { url: 'https://example.com/', auth: {} };
  t.like(parseTriggerConfig('webhook', { execution: { callback } }).config, {
    execution: { callback: { method: 'POST', auth: { type: 'none' } } },
  });
});

test('lengths of channels and apps hold where splitting is not configured', (t) => {
  const callback = { url: 'https://example.com/' };
  const splitOf = (given: Given): unknown => {
    const { execution } = parseTriggerConfig('webhook', given).config as {
      readonly execution: {
        readonly split_config: { readonly enabled: boolean; readonly max_chunk_size: number };
      };
    };
    const { enabled, max_chunk_size: size } = execution.split_config;
    return [enabled, size];
  };
  const teams = { response_adapter: { format: 'teams' } };
  const slack = { response_adapter: { format: 'slack' } };
  const twilio = { channel: { type: 'twilio' } };
  const whatsapp = { channel: { type: 'whatsapp_cloud' } };
  const split = (split_config: object) => ({ execution: { mode: 'async', callback, split_config } });
  const direct = (split_config: object) => ({ execution: { split_config } });
  t.deepEqual(splitOf(teams), [true, 25_000]);
  t.deepEqual(splitOf(slack), [true, 3_500]);
  t.deepEqual(splitOf(twilio), [true, 1_500]);
  t.deepEqual(splitOf({ ...teams, ...split({ enabled: true }) }), [true, 1_500]);
  t.deepEqual(splitOf({ ...slack, ...split({ enabled: true, max_chunk_size: 4_000 }) }), [true, 4_000]);
  t.deepEqual(splitOf({ ...whatsapp, ...direct({ enabled: true }) }), [true, 1_500]);
  // The vendor refuses longer texts.
  t.deepEqual(splitOf({ ...twilio, ...direct({ enabled: true, max_chunk_size: 50_000 }) }), [true, 1_600]);
});

test('an answer that is not split has a length only where a vendor or an app gets it', (t) => {
  const callback = { url: 'https://example.com/' };
  const textMaxOf = (given: Given): unknown => {
    const { execution } = parseTriggerConfig('webhook', given).config as {
      readonly execution: { readonly split_config: { readonly text_max?: number } };
    };
    return execution.split_config.text_max;
  };
  const split_config = { enabled: false };
  const direct = { execution: { split_config } };
  const called = { execution: { split_config, callback } };
  const [twilio, whatsapp, slack] = ['twilio', 'whatsapp_cloud', 'slack'].map((type) => ({
    channel: { type },
  }));
  const teams = { response_adapter: { format: 'teams' } };
  t.is(textMaxOf({ ...twilio, ...direct }), 1_600);
  t.is(textMaxOf({ ...whatsapp, ...direct }), 4_096);
  t.is(textMaxOf({ ...slack, ...direct }), 40_000);
  t.is(textMaxOf({ ...whatsapp, ...teams, ...direct }), 4_096, 'the channel gets the text');
  t.is(textMaxOf({ ...twilio, ...called }), 1_600, 'the response holds the answer');
  t.is(textMaxOf({ ...whatsapp, ...called }), undefined);
  t.is(textMaxOf({ ...teams, execution: { mode: 'async', split_config, callback } }), 25_000);
  t.is(textMaxOf(direct), undefined);
});

test('every bound of the tables is enforced, and the refusal names the field', (t) => {
  const within = (path: string, value: unknown): Given =>
    path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Given;
  const bounds: [string, number, number][] = [
    ['execution.split_config.max_chunk_size', 100, 50_000],
    ['execution.split_config.max_chunks', 1, 50],
    ['execution.split_config.inter_chunk_delay_ms', 0, 10_000],
    ['execution.message_buffer.window_ms', 100, 60_000],
    ['execution.message_buffer.max_messages', 1, 100],
    ['response_adapter.max_messages', 1, 50],
  ];
  for (const [path, least, most] of bounds) {
    for (const good of [least, most])
      t.is(fieldRefused('webhook', within(path, good)), undefined, `${path} ${good}`);
    for (const wrong of [least - 1, most + 1, least + 0.5, String(least), null])
      t.is(fieldRefused('webhook', within(path, wrong)), `trigger_config.${path}`, `${path} ${wrong}`);
  }
});

test('invalid values are refused by field', (t) => {
  const cases: [Given, string][] = [
    [{ auth: { type: 'hmac' } }, 'auth.type'],
    [{ query_extraction: { mode: 'xpath' } }, 'query_extraction.mode'],
    [{ query_extraction: { mode: 'jmespath', expression: 'a[' } }, 'query_extraction.expression'],
    [{ query_extraction: { mode: 'jmespath' } }, 'query_extraction.expression'],
    [{ query_extraction: { mode: 'template' } }, 'query_extraction.template'],
    [{ context_mapping: { a: '$..b' } }, 'context_mapping.a'],
    [{ context_mapping: { a: 'b' } }, 'context_mapping.a'],
    [{ response_adapter: { format: 'xml' } }, 'response_adapter.format'],
    [{ session_strategy: { mode: 'derive' } }, 'session_strategy.fields'],
    [{ session_strategy: { mode: 'derive', fields: [] } }, 'session_strategy.fields'],
    [
      { session_strategy: { mode: 'derive', fields: ['a', 'b', 'c', 'd', 'e', 'f'] } },
      'session_strategy.fields',
    ],
    [{ channel: { type: 'fax' } }, 'channel.type'],
    [{ channel: { type: 'twilio', auth: { type: 'basic' } } }, 'channel.auth.secret_ref'],
    [{ sender_access: { mode: 'friends' } }, 'sender_access.mode'],
    [{ sender_access: { match_column: 'shoe_size' } }, 'sender_access.match_column'],
    [{ execution: { mode: 'later' } }, 'execution.mode'],
    [{ execution: { callback: {} } }, 'execution.callback.url'],
    [{ execution: { callback: { url: 'https://{{ host }}/x' } } }, 'execution.callback.url'],
    [{ execution: { callback: { url: '{{ url }}' } } }, 'execution.callback.url'],
    [{ execution: { callback: { url: 'https://x.example', method: 'GET' } } }, 'execution.callback.method'],
    [
      { execution: { callback: { url: 'https://x.example', auth: { type: 'bearer' } } } },
      'execution.callback.auth.secret_ref',
    ],
    [
      { execution: { callback: { url: 'https://x.example', auth: { type: 'bearer', token: 'plain' } } } },
      'execution.callback.auth.token',
    ],
    [
      { execution: { callback: { url: 'https://x.example', content_type: 'json' } } },
      'execution.callback.content_type',
    ],
    [
      { execution: { callback: { url: 'https://x.example', response_transform: { max_length: 0 } } } },
      'execution.callback.response_transform.max_length',
    ],
    [{ execution: { split_config: { chunk_strategy: 'word' } } }, 'execution.split_config.chunk_strategy'],
    [{ execution: { ack_response: { content_type: 'no type' } } }, 'execution.ack_response.content_type'],
  ];
  for (const [given, field] of cases)
    t.is(fieldRefused('webhook', given), `trigger_config.${field}`, JSON.stringify(given));
});

test('a path with double quotes is refused at save, and a stored one is still read', (t) => {
  const refused = (path: string): unknown => {
    const stored = parseTriggerConfig('webhook', { context_mapping: { city: path } });
    const error = t.throws(() => checkSettings(stored, 0), { instanceOf: PlatformError });
    return error?.details;
  };
  const issue = "must be a path made of `$`, `.name`, `['name']` and `[n]`";
  for (const path of ['$["place"]', '$.place["city"]', `$['place']["city"][0]`])
    t.deepEqual(refused(path), { field: 'trigger_config.context_mapping.city', issue }, path);
  for (const path of ['$', '$.place.city', "$['place']['ci\"ty'][0]"])
    t.notThrows(
      () => checkSettings(parseTriggerConfig('webhook', { context_mapping: { city: path } }), 0),
      path,
    );
});

test('a buffer needs async mode, derived sessions and a way to answer', (t) => {
  const callback = { url: 'https://x.example/' };
  const derive = { mode: 'derive', fields: ['id'] };
  const message_buffer = { enabled: true };
  const refused = (given: Given): unknown => fieldRefused('webhook', given);
  const at = 'trigger_config.execution.message_buffer';
  t.is(refused({ session_strategy: derive, execution: { callback, message_buffer } }), at);
  t.is(refused({ execution: { mode: 'async', callback, message_buffer } }), at);
  t.is(refused({ session_strategy: derive, execution: { mode: 'async', message_buffer } }), at);
  t.is(
    refused({ session_strategy: derive, execution: { mode: 'async', callback, message_buffer } }),
    undefined,
  );
  t.is(refused({ channel: { type: 'twilio' }, execution: { mode: 'async', message_buffer } }), undefined);
});

test('invalid numbers for times cause no exception in any field', (t) => {
  for (const timeout_ms of ['soon', 5, -1, 1e12, {}])
    t.is(fieldRefused('webhook', { timeout_ms, execution: { timeout_ms } }), undefined);
});

test('callbacks to forbidden addresses are refused', async (t) => {
  const egress = createEgress({ allow: [] });
  t.teardown(() => egress.close());
  const refused = (url: string): unknown => {
    const error = t.throws(() =>
      checkOutbound(parseTriggerConfig('webhook', { execution: { callback: { url } } }), egress),
    );
    return error instanceof PlatformError ? error.details?.['field'] : undefined;
  };
  for (const url of [
    'http://127.0.0.1/x',
    'http://169.254.169.254/{{ a }}',
    'http://[::1]/',
    'http://localhost/',
  ])
    t.is(refused(url), 'trigger_config.execution.callback.url', url);
  t.notThrows(() =>
    checkOutbound(
      parseTriggerConfig('webhook', { execution: { callback: { url: 'https://api.example.com/{{ a }}' } } }),
      egress,
    ),
  );
});

test('every secret of a configuration is listed with its destination', (t) => {
  const config = parseTriggerConfig('webhook', {
    channel: { type: 'twilio', auth: { type: 'basic', secret_ref: 'twilio' } },
    execution: {
      callback: { url: 'https://x.example/{{ a }}', auth: { type: 'bearer', secret_ref: 'token' } },
    },
  });
  const addresses = {
    twilio: 'https://api.twilio.com',
    whatsapp_cloud: 'https://graph.facebook.com',
    slack: 'https://slack.com',
  };
  t.deepEqual(destinationsOf(config, addresses), [
    {
      secret: 'twilio',
      field: 'trigger_config.channel.auth.secret_ref',
      scheme: 'https',
      host: 'api.twilio.com',
      port: 443,
    },
    {
      secret: 'token',
      field: 'trigger_config.execution.callback.auth.secret_ref',
      scheme: 'https',
      host: 'x.example',
      port: 443,
    },
  ]);
  const imap = { host: 'mail.example.com', user: 'u', secret_ref: 's' };
  const mailboxAt = (fields: object) => {
    const email = parseTriggerConfig('email', { imap: { ...imap, ...fields } });
    return destinationsOf(email, addresses).map(textOfPlace);
  };
  t.deepEqual(mailboxAt({}), ['imaps://mail.example.com:993']);
  t.deepEqual(mailboxAt({ port: 143 }), ['imap+starttls://mail.example.com:143']);
  t.deepEqual(mailboxAt({ port: 993, tls: false }), ['imap+starttls://mail.example.com:993']);
});

test('schedules, mail and database events have their shapes and defaults', (t) => {
  t.like(parseTriggerConfig('schedule', { cron: '0 9 * * *', message: 'Good morning' }).config, {
    timezone: 'UTC',
    missed: 'skip',
    context: {},
  });
  t.like(parseTriggerConfig('email', {}).config, { reply: true });
  t.like(
    parseTriggerConfig('email', { imap: { host: 'mail.example.com', user: 'u', secret_ref: 's' } }).config,
    { imap: { port: 993, mailbox: 'INBOX' } },
  );
  const event = {
    database_config_id: '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b',
    table: 'public.orders',
    cursor_column: 'id',
    message_template: '{{ id }}',
  };
  t.like(parseTriggerConfig('db_event', event).config, { events: ['insert'], poll_ms: 1_000 });
  t.is(fieldRefused('schedule', { cron: '* * * * *' }), 'trigger_config.message');
  t.is(
    fieldRefused('schedule', { cron: '* * * * *', message: 'x', missed: 'twice' }),
    'trigger_config.missed',
  );
  t.is(fieldRefused('email', { imap: { host: 'x', user: 'u' } }), 'trigger_config.imap.secret_ref');
  t.is(fieldRefused('email', { allowed_senders: ['nobody'] }), 'trigger_config.allowed_senders.0');
  t.is(fieldRefused('db_event', { ...event, table: 'orders; drop table x' }), 'trigger_config.table');
  t.is(fieldRefused('db_event', { ...event, events: ['delete'] }), 'trigger_config.events.0');
  t.is(fieldRefused('db_event', { ...event, poll_ms: 1 }), 'trigger_config.poll_ms');
});

test('leftover fields of another mode or credential are kept and ignored', (t) => {
  const query_extraction = { mode: 'jmespath', expression: 'a.b', field: 'message', template: '{{ a }}' };
  t.is(fieldRefused('webhook', { query_extraction }), undefined);
  const callback = {
    url: 'https://example.com/',
    auth: { type: 'none', secret_ref: 'token', header: 'X-Key' },
  };
  t.is(fieldRefused('webhook', { execution: { callback } }), undefined);
  t.is(
    fieldRefused('webhook', { query_extraction: { mode: 'full_body', fields: [] } }),
    'trigger_config.query_extraction.fields',
  );
});

test('null omits a setting, and stays in bodies that are sent unchanged', (t) => {
  t.deepEqual(
    withoutNulls({
      channel: null,
      execution: {
        timeout_ms: null,
        callback: { url: 'https://example.com/', auth: null, body_template: { a: null, b: ['c', null] } },
        ack_response: { body: { done: null }, content_type: null },
      },
    }),
    {
      execution: {
        callback: { url: 'https://example.com/', body_template: { a: null, b: ['c', null] } },
        ack_response: { body: { done: null } },
      },
    },
  );
  t.deepEqual(withoutNulls({ execution: null, filter: null }), {});
  const filter = { deleted_at: null, kind: 'vip' };
  t.deepEqual(withoutNulls({ filter }), { filter });
});
