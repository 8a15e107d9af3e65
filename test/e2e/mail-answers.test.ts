import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startMailServer } from '../support/servers/mail-server.js';
import { answersOf, sendMail, startMailNode } from '../support/servers/mails.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger, executionsOf } from '../support/builders/triggers.js';

// A node for each test: they differ in how mail leaves.
test.serial('an answer is a reply in the thread, and a reply to it continues the session', async (t) => {
  const node = await startMailNode(t);
  const trigger = await createTrigger(node, {}, 'email');
  const to = `${trigger.id}@hotel.example`;
  await sendMail(node.mailPort, {
    to,
    subject: 'Rooms',
    text: 'Do you have one?',
    messageId: '<question@example.com>',
    references: ['<before@example.com>'],
  });
  const [answer] = await eventually(async () => {
    const mails = await answersOf(node, trigger);
    return mails.length > 0 && mails;
  });
  t.is(answer?.subject, 'Re: Rooms');
  t.is(answer?.text?.trim(), 'echo: Do you have one?');
  t.is(answer?.inReplyTo, '<question@example.com>');
  t.deepEqual(answer?.references, ['<before@example.com>', '<question@example.com>']);
  t.is(answer?.from?.text, to);
  t.is(answer?.headers.get('auto-submitted'), 'auto-replied');
  const delivered = async () => (await executionsOf(node, trigger))[0];
  await eventually(async () => (await delivered())?.['delivery_status'] === 'delivered', { everyMs: 100 });
  const first = await delivered();
  t.is(answer?.messageId, `<${first?.['id']}@hotel.example>`);
  // Some programs name the mail that is answered and nothing else.
  await sendMail(node.mailPort, { to, text: 'And two?', inReplyTo: String(answer?.messageId) });
  await eventually(async () => (await executionsOf(node, trigger)).length === 2, { everyMs: 100 });
  const sessions = (await executionsOf(node, trigger)).map(({ session_id }) => session_id);
  t.is(new Set(sessions).size, 1);
});

test.serial(
  'an answer that the mail server refuses is retried under the same Message-ID, and finally reported',
  async (t) => {
    const server = await startMailServer();
    t.teardown(() => server.close());
    server.refuseWith = 451;
    const node = await startMailNode(t, { TROUPE_SMTP_URL: server.url });
    const trigger = await createTrigger(node, {}, 'email');
    await sendMail(node.mailPort, { to: `${trigger.id}@hotel.example`, text: 'hello' });
    await eventually(() => server.attempts >= 1, { everyMs: 50 });
    server.refuseWith = undefined;
    await eventually(() => server.taken.length === 1, { everyMs: 50 });
    const statusOf = async () => (await executionsOf(node, trigger))[0]?.['delivery_status'];
    await eventually(async () => (await statusOf()) === 'delivered', { everyMs: 100 });
    const { json } = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`);
    t.like(json.data[0], { status: 'delivered', attempts: 2, chunk_total: 1 });

    server.refuseWith = 550;
    await sendMail(node.mailPort, { to: `${trigger.id}@hotel.example`, text: 'again' });
    await eventually(async () => (await statusOf()) === 'delivery_failed', { everyMs: 100 });
    const failed = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`);
    t.is(failed.json.data[0].last_error, 'The mail server did not take the mail.');
    server.refuseWith = undefined;
    const replay = await asOwner(node, 'POST', `/api/v1/deliveries/${failed.json.data[0].id}/replay`);
    t.true(replay.status < 300, replay.text);
    await eventually(async () => (await statusOf()) === 'delivered', { everyMs: 100 });
  },
);

test.serial('a mail with a callback is answered by both, once each', async (t) => {
  const node = await startMailNode(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const both = await createTrigger(node, { execution: { callback: { url: receiver.url } } }, 'email');
  const only = { reply: false, execution: { callback: { url: receiver.url } } };
  const callbackOnly = await createTrigger(node, only, 'email');
  for (const { id } of [both, callbackOnly]) {
    await sendMail(node.mailPort, { to: `${id}@hotel.example`, text: 'hello' });
  }
  await eventually(async () => (await answersOf(node, both)).length === 1 && receiver.heard.length === 2);
  const [execution] = await executionsOf(node, both);
  const heard = receiver.heard.find(({ body }) => JSON.parse(body).trigger_id === both.id);
  t.like(JSON.parse(heard?.body ?? ''), { agent_response: 'echo: hello', execution_id: execution?.['id'] });
  t.is(heard?.headers['idempotency-key'], `${execution?.['id']}:1`);
  const { json } = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${both.id}`);
  t.is(json.data.length, 2);
  t.deepEqual(await answersOf(node, callbackOnly), []);
});

test.serial(
  'a mail whose turn ends by time is answered in words, and its callback gets nothing',
  async (t) => {
    const node = await startMailNode(t);
    const { agent_id: agent } = node.bootstrap;
    await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'sim.lorem-2-8000' } });
    await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
    const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
    const execution = { timeout_ms: 1_000, callback: { url: receiver.url } };
    const trigger = await createTrigger(node, { execution }, 'email');
    await sendMail(node.mailPort, { to: `${trigger.id}@hotel.example`, text: 'hello' });
    const [answer] = await eventually(async () => {
      const mails = await answersOf(node, trigger);
      return mails.length > 0 && mails;
    });
    t.is(answer?.text?.trim(), 'The agent did not answer in time.');
    // What goes to the callback is put into the outbox before the mail is.
    const { json } = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`);
    t.is(json.data.length, 1);
    t.deepEqual(receiver.heard, []);
  },
);
