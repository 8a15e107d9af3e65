import { createHmac } from 'node:crypto';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';
import { addSecret, asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';

let twilio: ToolServer;
let meta: ToolServer;
const shared = sharedNode(test, async (atEnd) => {
  twilio = await startToolServer(atEnd, (_request, response) => answerJson(response, { sid: 'SM9' }, 201));
  meta = await startToolServer(atEnd, (_request, response) =>
    answerJson(response, { messages: [{ id: 'wamid.9' }] }),
  );
  return { environment: { TROUPE_TWILIO_BASE_URL: twilio.url, TROUPE_WHATSAPP_BASE_URL: meta.url } };
});

const twilioSecret = 'AC123:auth-token-of-tests';

function twilioForm(sid: string, text: string): URLSearchParams {
  return new URLSearchParams({
    MessageSid: sid,
    From: 'whatsapp:+4917155501',
    To: 'whatsapp:+14155238886',
    Body: text,
    ProfileName: 'Ada',
  });
}

function twilioSignature(url: string, form: URLSearchParams): string {
  const fields = [...form].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const signed = url + fields.map(([name, value]) => name + value).join('');
  return createHmac('sha1', 'auth-token-of-tests').update(signed).digest('base64');
}

test('a Twilio message is answered once, in the response', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'twilio', twilioSecret);
  const trigger = await createTrigger(node, {
    channel: { type: 'twilio', auth: { type: 'basic', secret_ref: 'twilio' } },
  });
  const url = `${node.node.baseUrl}${trigger.path}`;
  const send = (form: URLSearchParams, signature = twilioSignature(url, form)) =>
    node.client.call('POST', trigger.path, {
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature },
    });
  t.is((await send(twilioForm('SM1', 'hi'), 'c29tZXRoaW5n')).status, 401);
  const elsewhere = url.replace('127.0.0.1', 'localhost');
  const form = twilioForm('SM0', 'hi');
  t.is((await send(form, twilioSignature(elsewhere, form))).status, 401, 'another name than was called');
  const named = await fetch(elsewhere, {
    method: 'POST',
    body: form,
    headers: { 'x-twilio-signature': twilioSignature(elsewhere, form) },
  });
  t.is(await named.text(), '<Response><Message>echo: hi</Message></Response>', 'the name that was called');
  const answer = await send(twilioForm('SM1', 'hi **there**'));
  t.is(answer.text, '<Response><Message>echo: hi there</Message></Response>');
  t.is((await send(twilioForm('SM1', 'hi **there**'))).text, answer.text);
  await send(twilioForm('SM2', 'again'));
  const executions = await executionsOf(node, trigger);
  t.is(executions.length, 3, 'a repeated message runs nothing');
  t.is(executions[0].session_id, executions[1].session_id, 'one person has one session');
  const session = await asOwner(node, 'GET', `/api/v1/sessions/${executions[0].session_id}`);
  t.like(session.json.data, { consumer_key: '+4917155501', consumer_display_name: 'Ada', channel: 'twilio' });
});

test("async answers and manual messages are sent through Twilio's API", async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'twilio', twilioSecret);
  const trigger = await createTrigger(node, {
    channel: { type: 'twilio', auth: { type: 'basic', secret_ref: 'twilio' } },
    execution: { mode: 'async', ack_response: { body: '<Response></Response>', content_type: 'text/xml' } },
  });
  const form = twilioForm('SM1', 'hi');
  const ack = await node.client.call('POST', trigger.path, {
    body: form.toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': twilioSignature(`${node.node.baseUrl}${trigger.path}`, form),
    },
  });
  t.is(`${ack.status} ${ack.text}`, '202 <Response></Response>');
  await eventually(() => twilio.heard.length === 1);
  const [sent] = twilio.heard;
  t.is(sent?.path, '/2010-04-01/Accounts/AC123/Messages.json');
  t.is(sent?.headers['authorization'], `Basic ${Buffer.from(twilioSecret).toString('base64')}`);
  t.deepEqual(Object.fromEntries(new URLSearchParams(sent?.body)), {
    To: 'whatsapp:+4917155501',
    From: 'whatsapp:+14155238886',
    Body: 'echo: hi',
  });

  const execution = await eventually(async () =>
    (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivered'),
  );
  const path = `/api/v1/sessions/${execution.session_id}/manual-message`;
  const write = (message: string, key: string) =>
    node.client.call('POST', path, {
      key: node.bootstrap.api_key,
      body: { message },
      headers: { 'idempotency-key': key },
    });
  t.is((await write('hello', 'k1')).json.error, 'INVALID_SESSION_STATE');
  await asOwner(node, 'POST', `/api/v1/sessions/${execution.session_id}/handoff`, {});
  const written = await write('a person here', 'k1');
  t.is(written.status, 200, written.text);
  t.deepEqual((await write('a person here', 'k1')).json, written.json);
  t.is((await write('something else', 'k1')).status, 409);
  await asOwner(node, 'POST', `/api/v1/sessions/${execution.session_id}/resume`);
  t.deepEqual((await write('a person here', 'k1')).json, written.json, 'also once the agent leads again');
  t.is(twilio.heard.length, 2, 'the repeat sent nothing');
  t.is(new URLSearchParams(twilio.heard[1]?.body).get('Body'), 'a person here');
  const messages = await asOwner(node, 'GET', `/api/v1/sessions/${execution.session_id}/messages`);
  t.like(messages.json.data.at(-1), {
    role: 'assistant',
    content: 'a person here',
    id: written.json.data.message_id,
  });
});

test('a manual message needs a session of a trigger with a working outbound channel', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id } = node.bootstrap;
  const opened = await asOwner(node, 'POST', '/api/sessions', { agent_id });
  const id = opened.json.data.session_id;
  await asOwner(node, 'POST', `/api/v1/sessions/${id}/handoff`, {});
  const refused = await asOwner(node, 'POST', `/api/v1/sessions/${id}/manual-message`, { message: 'x' });
  t.is(`${refused.status} ${refused.json.error}`, '422 NO_TRIGGER_HISTORY');
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
  });
  await node.client.call('POST', trigger.path, { body: { message: 'hi', user: 'ada' } });
  const [execution] = await executionsOf(node, trigger);
  await asOwner(node, 'POST', `/api/v1/sessions/${execution.session_id}/handoff`, {});
  const path = `/api/v1/sessions/${execution.session_id}/manual-message`;
  const silent = await asOwner(node, 'POST', path, { message: 'x' });
  t.is(`${silent.status} ${silent.json.error}`, '422 NO_CALLBACK_CONFIG');
  const broken = await startToolServer(t, (_request, response) => answerJson(response, {}, 500));
  const callback = { url: broken.url };
  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: { execution: { callback } },
  });
  const failed = await asOwner(node, 'POST', path, { message: 'x' });
  t.is(`${failed.status} ${failed.json.error}`, '502 DELIVERY_FAILED');
});

test('a repeated channel message is recognised for 8 days, any other for a day', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { auth: { type: 'none' }, channel: { type: 'twilio' } });
  const other = await createTrigger(node, { auth: { type: 'none' } });
  const write = () =>
    node.client.call('POST', trigger.path, {
      body: twilioForm('SM1', 'hi').toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const post = () =>
    node.client.call('POST', other.path, {
      body: { message: 'hi' },
      headers: { 'idempotency-key': 'one' },
    });
  const counts = async () =>
    Promise.all([trigger, other].map(async (one) => (await executionsOf(node, one)).length));
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const pass = (interval: string) =>
    owner.query('update trigger_inbox set expires_at = expires_at - $1::interval where tenant_id = $2', [
      interval,
      node.bootstrap.tenant_id,
    ]);
  for (const send of [write, write, post, post]) t.is((await send()).status, 200);
  t.deepEqual(await counts(), [1, 1]);
  await pass('23 hours 50 minutes');
  for (const send of [write, post]) await send();
  t.deepEqual(await counts(), [1, 1]);
  await pass('20 minutes');
  for (const send of [write, post]) await send();
  t.deepEqual(await counts(), [1, 2]);
  await pass('6 days 23 hours');
  await write();
  t.deepEqual(await counts(), [1, 2]);
  await pass('1 hour');
  await write();
  t.deepEqual(await counts(), [2, 2]);
});

test('a request with very many messages loses none because of an unreadable one', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    channel: { type: 'whatsapp_cloud' },
    // Whoever is refused leaves an execution, at no cost.
    sender_access: { mode: 'whitelist' },
    session_strategy: { mode: 'derive', fields: ['contacts_of_nobody', '_waId'] },
  });
  const messages = Array.from({ length: 120 }, (_, index) => ({
    id: `wamid.${index}`,
    from: `49171555${index}`,
    text: { body: 'hi' },
  }));
  const send = (of: readonly object[]) =>
    sendSigned(node, trigger, { entry: [{ changes: [{ value: { messages: of } }] }] });
  const statuses: number[] = [];
  for (let times = 0; times < 4; times += 1) statuses.push((await send(messages)).status);
  t.deepEqual(statuses, [503, 503, 200, 200]);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const count = async () =>
    (
      await owner.query<{ n: number }>('select count(*)::int as n from executions where tenant_id = $1', [
        node.bootstrap.tenant_id,
      ])
    ).rows[0]?.n;
  t.is(await count(), 120);

  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: {
      sender_access: { mode: 'any' },
      query_extraction: { field: 'entry.0.changes.0.value.messages.0.say' },
    },
  });
  const said = [{ say: 'one' }, { not: 'this' }, { say: 'three' }];
  const three = said.map((one, index) => ({ id: `wamid.said.${index}`, from: '491', ...one }));
  t.is((await send(three)).status, 400);
  await eventually(async () => (await count()) === 122);
  t.is((await send(three)).status, 400);
  t.is(await count(), 122);
});

test('WhatsApp verifies the address, sends signed messages, and is answered through its API', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'whatsapp', JSON.stringify({ access_token: 'EAAtest', app_secret: 'app-secret' }));
  const trigger = await createTrigger(node, {
    channel: { type: 'whatsapp_cloud', auth: { type: 'bearer', secret_ref: 'whatsapp' } },
  });
  const challenge = (token: string) =>
    node.client.call(
      'GET',
      `${trigger.path}?${new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': token, 'hub.challenge': '1158201444' }).toString()}`,
    );
  t.is((await challenge(trigger.secret)).text, '1158201444');
  t.is((await challenge('wrong')).status, 401);
  const value = {
    metadata: { phone_number_id: '555' },
    contacts: [{ wa_id: '4917155501', profile: { name: 'Ada' } }],
    messages: [{ id: 'wamid.1', from: '4917155501', type: 'text', text: { body: 'hi' } }],
  };
  const payload = (of: object) =>
    JSON.stringify({ object: 'whatsapp_business_account', entry: [{ changes: [{ value: of }] }] });
  const send = (body: string) =>
    node.client.call('POST', trigger.path, {
      body,
      headers: {
        'x-hub-signature-256': `sha256=${createHmac('sha256', 'app-secret').update(body).digest('hex')}`,
      },
    });
  t.is((await node.client.call('POST', trigger.path, { body: payload(value) })).status, 401);
  t.is((await send(payload(value))).status, 200);
  t.is((await send(payload(value))).status, 200);
  t.is((await send(payload({ statuses: [{ id: 'wamid.9', status: 'read' }] }))).status, 200);
  await eventually(async () =>
    (await executionsOf(node, trigger)).some((one) => one.delivery_status === 'delivered'),
  );
  t.is((await executionsOf(node, trigger)).length, 1);
  t.is(meta.heard.length, 1);
  t.regex(meta.heard[0]?.path ?? '', /^\/v\d+\.0\/555\/messages$/);
  t.is(meta.heard[0]?.headers['authorization'], 'Bearer EAAtest');
  t.like(JSON.parse(meta.heard[0]?.body ?? ''), {
    messaging_product: 'whatsapp',
    to: '4917155501',
    text: { body: 'echo: hi' },
  });
});
