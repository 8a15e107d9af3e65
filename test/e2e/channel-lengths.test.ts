// Section "Triggers": no receiver gets a text that is longer than it takes, whatever split_config says.
import { createHmac } from 'node:crypto';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { addSecret, createTrigger, executionsOf, type TestTrigger } from '../support/builders/triggers.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';

let vendor: ToolServer;
const shared = sharedNode(test, async (atEnd) => {
  vendor = await startToolServer(atEnd, (_request, response) => answerJson(response, { ok: true }));
  return {
    environment: {
      TROUPE_TWILIO_BASE_URL: vendor.url,
      TROUPE_WHATSAPP_BASE_URL: vendor.url,
      TROUPE_SLACK_BASE_URL: vendor.url,
    },
  };
});

interface Receiver {
  readonly name: string;
  /** Characters of one text. */
  readonly takes: number;
  readonly secret?: string;
  readonly config: () => Readonly<Record<string, unknown>>;
  /** The vendor's own request with this message. */
  readonly request: (
    text: string,
    url: string,
  ) => { readonly body: string; readonly headers: Record<string, string> };
  /** Where its texts arrive, and the text of a body. */
  readonly path: RegExp;
  readonly textOf: (body: string) => string;
}

const json = { 'content-type': 'application/json' };
const hmac = (algorithm: string, key: string, text: string) => createHmac(algorithm, key).update(text);

const whatsapp = { channel: { type: 'whatsapp_cloud', auth: { type: 'bearer', secret_ref: 'channel' } } };
const whatsappSecret = JSON.stringify({ access_token: 'EAA', app_secret: 'shh' });
const whatsappText = (body: string): string => JSON.parse(body).text.body;

/** A message that a person wrote to this number. */
function toWhatsapp(number: string, text: string) {
  const messages = [{ id: 'wamid.1', from: '4917155501', type: 'text', text: { body: text } }];
  const value = { metadata: { phone_number_id: number }, messages };
  const body = JSON.stringify({ entry: [{ changes: [{ value }] }] });
  const signature = `sha256=${hmac('sha256', 'shh', body).digest('hex')}`;
  return { body, headers: { ...json, 'x-hub-signature-256': signature } };
}

const receivers: readonly Receiver[] = [
  {
    name: 'Twilio',
    takes: 1_500,
    secret: 'AC1:token',
    config: () => ({
      channel: { type: 'twilio', auth: { type: 'basic', secret_ref: 'channel' } },
      execution: { mode: 'async' },
    }),
    request(text, url) {
      const form = new URLSearchParams({ Body: text, From: '+4917155501', MessageSid: 'SM1', To: '+1415' });
      const signed = url + [...form].map(([name, value]) => name + value).join('');
      const signature = hmac('sha1', 'token', signed).digest('base64');
      const type = 'application/x-www-form-urlencoded';
      return { body: form.toString(), headers: { 'content-type': type, 'x-twilio-signature': signature } };
    },
    path: /Messages.json$/,
    textOf: (body) => new URLSearchParams(body).get('Body') ?? '',
  },
  {
    name: 'WhatsApp',
    takes: 4_000,
    secret: whatsappSecret,
    config: () => whatsapp,
    request: (text) => toWhatsapp('555', text),
    path: /\/555\/messages$/,
    textOf: whatsappText,
  },
  {
    name: 'Slack',
    takes: 3_500,
    secret: JSON.stringify({ bot_token: 'xoxb', signing_secret: 'signing' }),
    config: () => ({ channel: { type: 'slack', auth: { secret_ref: 'channel' } } }),
    request(text) {
      const event = { type: 'message', user: 'U1', channel: 'C1', ts: '1700000000.000100', text };
      const body = JSON.stringify({ type: 'event_callback', team_id: 'T1', event_id: 'Ev1', event });
      const timestamp = String(Math.floor(Date.now() / 1_000));
      const signature = `v0=${hmac('sha256', 'signing', `v0:${timestamp}:${body}`).digest('hex')}`;
      const headers = { ...json, 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature };
      return { body, headers };
    },
    path: /chat.postMessage$/,
    textOf: (body) => JSON.parse(body).text,
  },
  {
    name: 'Teams',
    takes: 25_000,
    config: () => ({
      auth: { type: 'none' },
      response_adapter: { format: 'teams' },
      execution: { mode: 'async', callback: { url: `${vendor.url}/teams` } },
    }),
    request: (message) => ({ body: JSON.stringify({ message }), headers: json }),
    path: /\/teams$/,
    textOf: (body) => JSON.parse(body).agent_response,
  },
];

function send(node: TenantNode, { path }: TestTrigger, receiver: Receiver, text: string) {
  return node.client.call('POST', path, receiver.request(text, `${node.node.baseUrl}${path}`));
}

for (const receiver of receivers) {
  const { name, takes } = receiver;
  test(`${name} gets a long answer in texts of at most ${takes} characters, cut between paragraphs`, async (t) => {
    const node = await shared.tenant(t);
    if (receiver.secret !== undefined) await addSecret(node, 'channel', receiver.secret);
    const trigger = await createTrigger(node, receiver.config());
    const paragraph = 'word '.repeat(Math.floor(takes / 20)).trimEnd();
    const message = Array.from({ length: 5 }, (_, index) => `${index} ${paragraph}`).join('\n\n');
    t.true(message.length > takes);
    const accepted = await send(node, trigger, receiver, message);
    t.true(accepted.status < 300, accepted.text);
    const texts = await eventually(
      () => {
        const bodies = vendor.heard.filter(({ path }) => receiver.path.test(path)).map(({ body }) => body);
        return bodies.length >= 2 && bodies.map(receiver.textOf);
      },
      { everyMs: 50 },
    );
    t.deepEqual(
      texts.map((text) => text.slice(0, 6)),
      ['(1/2)\n', '(2/2)\n'],
    );
    t.true(texts.every((text) => text.length <= takes));
    t.is(texts.map((text) => text.slice(6)).join('\n\n'), `echo: ${message}`);
  });
}

test('WhatsApp gets one text that it takes where splitting is switched off, and the execution says that it is cut', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'channel', whatsappSecret);
  const trigger = await createTrigger(node, {
    ...whatsapp,
    execution: { split_config: { enabled: false } },
  });
  const accepted = await node.client.call('POST', trigger.path, toWhatsapp('556', 'word '.repeat(1_000)));
  t.true(accepted.status < 300, accepted.text);
  const execution = await eventually(
    async () => (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivered'),
    { everyMs: 50 },
  );
  t.true(execution.truncated);
  const texts = vendor.heard
    .filter(({ path }) => path.endsWith('/556/messages'))
    .map(({ body }) => whatsappText(body));
  t.is(texts.length, 1);
  t.true((texts[0]?.length ?? Infinity) <= 4_096);
  t.regex(texts[0] ?? '', /^echo: word .*…$/s);
});

test('a response of TwiML holds one text that Twilio takes where splitting is switched off', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    response_adapter: { format: 'twiml' },
    execution: { split_config: { enabled: false } },
  });
  const { text } = await node.client.call('POST', trigger.path, { body: { message: 'word '.repeat(500) } });
  const [, message = ''] = /^<Response><Message>(.*)<\/Message><\/Response>$/.exec(text) ?? [];
  t.regex(message, /^echo: word .*…$/);
  t.true(message.length <= 1_600);
  t.true((await executionsOf(node, trigger))[0].truncated);
});
