import test from 'ava';
import fc from 'fast-check';
import { messagesOf } from '../../../src/automation/intake/channels.js';
import {
  fitsSlack,
  slackCharsSurelyTaken,
  slackText,
  textOfSlack,
} from '../../../src/automation/messages/slack-text.js';
import { prepareAnswer } from '../../../src/automation/outbox/delivery-content.js';
import { outgoingRequest } from '../../../src/automation/outbox/outgoing-request.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { webhookConfig } from '../../../src/automation/triggers/config/webhook-config.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { SecretValue } from '../../../src/tenancy/vault/index.js';
import { said } from '../../support/builders/slack.js';

const scope = tenantScope('00000000-0000-4000-8000-000000000001');
const auth = { secret_ref: 'slack' };

test('text for Slack notifies nobody, and comes back as it was written', (t) => {
  t.is(
    slackText('a < b && <!channel> <https://evil.example|good>'),
    ['a &lt; b &amp;&amp; &lt;!channel&gt; &lt;https://evil.example|good&gt;'].join(),
  );
  t.is(textOfSlack('&amp;lt; is &lt;'), '&lt; is <');
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('&', '<', '>', ';', 'amp', 'lt', 'a') }), (text) => {
      const sent = slackText(text);
      return textOfSlack(sent) === text && !/[<>]/.test(sent);
    }),
  );
});

test('what a person wrote is read, with a file, for the whole channel or by /me too', (t) => {
  const read = (text: string, event: object = {}): unknown =>
    messagesOf('slack', said(text, event)).map((message) => message.text);
  t.deepEqual(read('<@U0BOT> is 1 &lt; 2 &amp;&amp; <@U2>?'), ['is 1 < 2 && <@U2>?']);
  t.deepEqual(read('&lt;@U0BOT&gt; is no mention'), ['<@U0BOT> is no mention']);
  const file = { subtype: 'file_share', files: [{ id: 'F1' }], bot_id: null };
  t.deepEqual(read('look at this', file), ['look at this']);
  t.deepEqual(read('', file), [''], 'like a picture without a caption');
  for (const subtype of ['thread_broadcast', 'me_message']) {
    t.deepEqual(read('hello', { subtype }), ['hello'], subtype);
    t.deepEqual(read('hello', { subtype, bot_id: 'B1' }), [], `${subtype} of an app`);
    t.deepEqual(read('hello', { subtype, user: undefined }), [], `${subtype} of nobody`);
  }
  for (const subtype of ['message_changed', 'message_deleted', 'channel_join', 'bot_message'])
    t.deepEqual(read('hello', { subtype }), [], subtype);
});

function request(text: string) {
  const parts = {
    vault: {
      resolve: async () => ({
        value: new SecretValue(JSON.stringify({ bot_token: 'xoxb' })),
        source: 'vault',
      }),
    },
    channels: { twilio: '', whatsapp_cloud: '', slack: 'https://slack.example' },
  };
  return outgoingRequest(parts as never, {
    scope,
    config: webhookConfig.parse({ channel: { type: 'slack', auth } }),
    secrets: [],
    content: { chunks: [text], context: {}, manual: false, reply: { to: 'C1', from: '1.1' } },
    names: {
      agent_response: text,
      session_id: 's',
      execution_id: 'e',
      trigger_id: 't',
      chunk_index: 1,
      chunk_total: 1,
    },
    key: 'e:1',
    now: new Date(0),
  });
}

test('an answer is sent in the form that Slack asks for', async (t) => {
  const { body } = await request('use <!channel> & co');
  t.is(JSON.parse(body).text, 'use &lt;!channel&gt; &amp; co');
});

test('faults that Slack reports as passing are tried again, others are final', async (t) => {
  const { faultIn } = await request('hello');
  const fault = (body: object) => faultIn?.(JSON.stringify(body));
  t.is(fault({ ok: true, ts: '1.1' }), undefined);
  for (const error of [
    'internal_error',
    'fatal_error',
    'service_unavailable',
    'request_timeout',
    'ratelimited',
  ])
    t.deepEqual(fault({ ok: false, error }), { error: `Slack refused the message: ${error}.`, final: false });
  for (const error of ['channel_not_found', 'invalid_auth', 'msg_too_long', 'is_archived'])
    t.deepEqual(fault({ ok: false, error }), { error: `Slack refused the message: ${error}.`, final: true });
  t.true(faultIn?.('<html>')?.final);
});

test('an answer fits Slack also if all of it becomes entities', async (t) => {
  const way = { scope, plainTexts: (_: unknown, text: string) => text };
  const chunksOf = async (text: string, split_config: object): Promise<readonly string[]> => {
    const parsed = parseTriggerConfig('webhook', {
      channel: { type: 'slack', auth },
      execution: { split_config },
    });
    const { content } = await prepareAnswer(way, parsed, text, { context: {} });
    t.true(content.chunks.every(fitsSlack));
    return content.chunks;
  };
  t.deepEqual(await chunksOf('word '.repeat(6_000), { enabled: false }), ['word '.repeat(6_000)]);
  t.is((await chunksOf('word '.repeat(7_000), { enabled: true, max_chunk_size: 40_000 })).length, 1);
  const signs = '&'.repeat(16_000);
  t.is((await chunksOf(signs, { enabled: true, max_chunk_size: 40_000, numbering: false })).join(''), signs);
  const [cut = '', ...others] = await chunksOf(signs, { enabled: false });
  t.deepEqual([cut.length, cut.at(-1), others.length], [slackCharsSurelyTaken, '…', 0]);
});
