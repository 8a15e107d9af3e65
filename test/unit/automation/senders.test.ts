import test from 'ava';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import type { WebhookConfig } from '../../../src/automation/triggers/config/webhook-config.js';
import { messagesOf } from '../../../src/automation/intake/channels.js';
import { consumerKeyOf, sessionOf } from '../../../src/automation/intake/sender-identity.js';
import { checkSender } from '../../../src/automation/messages/sender-access.js';
import { derivedSessionId } from '../../../src/conversations/invocation/index.js';

const agent = '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b';

function config(given: Record<string, unknown>): WebhookConfig {
  const parsed = parseTriggerConfig('webhook', given);
  if (parsed.type !== 'webhook') throw new Error('a webhook was asked for');
  return parsed.config;
}

const twilioPayload = {
  MessageSid: 'SM1',
  From: 'whatsapp:+4917155501',
  To: 'whatsapp:+14155238886',
  Body: 'Hi',
  ProfileName: 'Ada',
};
const whatsappPayload = {
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '1',
      changes: [
        {
          field: 'messages',
          value: {
            metadata: { display_phone_number: '14155238886', phone_number_id: '555' },
            contacts: [
              { wa_id: '4917155501', profile: { name: 'Ada' } },
              { wa_id: '4917155502', profile: { name: 'Bob' } },
            ],
            messages: [
              { id: 'wamid.1', from: '4917155501', type: 'text', text: { body: 'one' } },
              { id: 'wamid.2', from: '4917155502', type: 'button', button: { text: 'two' } },
            ],
          },
        },
      ],
    },
  ],
};

test('messages of both channels are read alike', (t) => {
  const [twilio] = messagesOf('twilio', twilioPayload);
  t.like(twilio, {
    id: 'SM1',
    sender: '+4917155501',
    displayName: 'Ada',
    text: 'Hi',
    ownAddress: 'whatsapp:+14155238886',
    replyTo: 'whatsapp:+4917155501',
  });
  const both = messagesOf('whatsapp_cloud', whatsappPayload);
  t.deepEqual(
    both.map(({ id, sender, displayName, text, ownAddress }) => ({
      id,
      sender,
      displayName,
      text,
      ownAddress,
    })),
    [
      { id: 'wamid.1', sender: '+4917155501', displayName: 'Ada', text: 'one', ownAddress: '555' },
      { id: 'wamid.2', sender: '+4917155502', displayName: 'Bob', text: 'two', ownAddress: '555' },
    ],
  );
  t.deepEqual(messagesOf('whatsapp_cloud', both[1]?.payload), [both[1]], 'each has a payload of its own');
});

test('channel notices without a message yield no message', (t) => {
  t.deepEqual(messagesOf('twilio', { MessageStatus: 'delivered' }), []);
  t.deepEqual(messagesOf('whatsapp_cloud', { entry: [{ changes: [{ value: { statuses: [{}] } }] }] }), []);
  for (const odd of [null, 'text', [], { entry: 'x' }, { entry: [null, { changes: [7] }] }])
    t.deepEqual(messagesOf('whatsapp_cloud', odd), []);
});

test("the consumer is the identity field, else the channel's sender, else nobody", (t) => {
  const channel = config({ channel: { type: 'twilio' } });
  const [message] = messagesOf('twilio', twilioPayload);
  t.is(consumerKeyOf(channel, { context: {}, payload: twilioPayload, message }), '+4917155501');
  const named = config({ sender_access: { identity_field: 'user.mail' } });
  const payload = { user: { mail: 'Ada@Example.com' } };
  t.is(consumerKeyOf(named, { context: {}, payload, message: undefined }), 'ada@example.com');
  t.is(consumerKeyOf(named, { context: { 'user.mail': 'x-1' }, payload, message: undefined }), 'x-1');
  t.is(consumerKeyOf(named, { context: {}, payload: {}, message: undefined }), undefined);
  const byPhone = config({ sender_access: { identity_field: 'phoneNumber' } });
  t.is(
    consumerKeyOf(byPhone, { context: {}, payload: { phoneNumber: '49 171' }, message: undefined }),
    '+49171',
  );
});

test('sessions are derived from the mapped context first, then from the payload', (t) => {
  const derive = config({ session_strategy: { mode: 'derive', fields: ['customer', 'order.id'] } });
  const id = sessionOf(agent, derive, {
    context: { customer: 'c' },
    payload: { customer: 'p', order: { id: 7 } },
    message: undefined,
  });
  t.is(
    id,
    derivedSessionId(agent, [
      { name: 'customer', value: 'c' },
      { name: 'order.id', value: 7 },
    ]),
  );
  t.is(sessionOf(agent, config({}), { context: {}, payload: {}, message: undefined }), undefined);
  const error = t.throws(() => sessionOf(agent, derive, { context: {}, payload: {}, message: undefined }));
  t.is(error !== undefined && 'code' in error ? error.code : '', 'validation_error');
});

test('a channel derives the session from its sender, like a declared phone number', (t) => {
  const channel = config({ channel: { type: 'whatsapp_cloud' } });
  const [message] = messagesOf('whatsapp_cloud', whatsappPayload);
  const id = sessionOf(agent, channel, { context: {}, payload: whatsappPayload, message });
  t.is(id, derivedSessionId(agent, [{ name: 'phoneNumber', value: '+49 171 55501' }]));
});

test('senders are checked by mode, with phone numbers in one spelling', async (t) => {
  const asked: string[] = [];
  const team = (column: string, value: string): Promise<{ userId: string } | undefined> => {
    asked.push(`${column} ${value}`);
    return Promise.resolve(value === '+49171' || value === 'ada@example.com' ? { userId: 'u1' } : undefined);
  };
  const check = (access: Record<string, unknown>, key: string | undefined) =>
    checkSender(config({ sender_access: access }).sender_access, key, team);
  t.deepEqual(await check({}, undefined), { allowed: true, userId: undefined });
  t.deepEqual(asked, [], 'nobody is looked up where it does not matter');
  t.true((await check({ mode: 'members', match_column: 'phone' }, 'whatsapp:+49 171')).allowed);
  t.true((await check({ mode: 'members' }, 'Ada@Example.com')).allowed);
  t.false((await check({ mode: 'members' }, 'eve@example.com')).allowed);
  t.false((await check({ mode: 'members' }, undefined)).allowed);
  t.is((await check({ mode: 'members' }, 'ada@example.com')).userId, undefined);
  t.is((await check({ mode: 'members', resolve_user: true }, 'ada@example.com')).userId, 'u1');
  t.is((await check({ resolve_user: true }, 'ada@example.com')).userId, 'u1');
  const listed = { mode: 'whitelist', identifiers: ['whatsapp:+55 11 99999-0000', 'Ada@example.com'] };
  t.true((await check(listed, '+5511999990000')).allowed);
  t.true((await check(listed, '5511999990000')).allowed);
  t.true((await check(listed, 'ada@example.com')).allowed);
  t.false((await check(listed, '+5511999990001')).allowed);
  t.false((await check(listed, undefined)).allowed);
});

test('an identity of more than 255 characters is refused, so that no two people become one', (t) => {
  const named = config({ sender_access: { identity_field: 'user' } });
  const keyOf = (user: string) =>
    consumerKeyOf(named, { context: {}, payload: { user }, message: undefined });
  t.is(keyOf('k'.repeat(255)), 'k'.repeat(255));
  t.like(
    t.throws(() => keyOf('k'.repeat(256))),
    {
      code: 'validation_error',
      message: "The sender's identity has 256 characters; at most 255 are allowed.",
      details: { field: 'user', issue: 'must have at most 255 characters' },
    },
  );
});

test("a channel's long message id is not cut within a character", (t) => {
  const [message] = messagesOf('twilio', { ...twilioPayload, MessageSid: `${'s'.repeat(199)}\u{1f600}` });
  t.is(message?.id, 's'.repeat(199));
});
