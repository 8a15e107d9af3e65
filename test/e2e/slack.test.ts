import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';
import { said, sendFromSlack as send, slackTrigger } from '../support/builders/slack.js';
import { executionsOf } from '../support/builders/triggers.js';

let slack: ToolServer;
/** Of channels in which Slack has a fault for a moment. */
const recovered = new Set<string>();
const shared = sharedNode(test, async (atEnd) => {
  slack = await startToolServer(atEnd, (request, response) => {
    const { channel } = JSON.parse(request.body);
    // Slack reports most faults with status 200.
    if (channel === 'C404') answerJson(response, { ok: false, error: 'channel_not_found' });
    else if (channel === 'C500' && !recovered.has(channel)) {
      recovered.add(channel);
      answerJson(response, { ok: false, error: 'internal_error' });
    } else answerJson(response, { ok: true, ts: '9.9' });
  });
  return { environment: { TROUPE_SLACK_BASE_URL: slack.url } };
});

test('a message of a thread is answered in the thread, and the thread is the session', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await slackTrigger(node);
  const first = await send(node, trigger, said('<@U0BOT> hello', { type: 'app_mention', channel: 'C7' }));
  t.true(first.status < 300, first.text);
  await send(node, trigger, said('<@U0BOT> hello', { channel: 'C7' }));
  const heard = () => slack.heard.filter(({ body }) => JSON.parse(body).channel === 'C7');
  await eventually(() => heard().length === 1, { everyMs: 50 });
  t.is(heard()[0]?.path, '/api/chat.postMessage');
  t.is(heard()[0]?.headers['authorization'], 'Bearer xoxb-of-tests');
  t.deepEqual(JSON.parse(heard()[0]?.body ?? ''), {
    channel: 'C7',
    thread_ts: '1700000000.000100',
    text: 'echo: hello',
  });
  const reply = { channel: 'C7', user: 'U2', ts: '1700000001.000100', thread_ts: '1700000000.000100' };
  await send(node, trigger, said('and me?', reply));
  await send(node, trigger, said('elsewhere', { channel: 'C7', ts: '1700000002.000100' }));
  await send(node, trigger, said('me too', { ...reply, user: 'U1', ts: '1700000003.000100' }));
  await eventually(() => heard().length === 4, { everyMs: 50 });
  const runs = await executionsOf(node, trigger);
  t.is(runs.length, 4, 'both events of one message are one');
  const sessionOf = (input: string) => runs.find((run) => run.input_preview === input)?.session_id;
  t.is(sessionOf('me too'), sessionOf('hello'));
  t.is(sessionOf('and me?'), sessionOf('hello'), 'a thread is one session, whoever writes in it');
  t.not(sessionOf('elsewhere'), sessionOf('hello'));
});

test('text has the form that Slack gives it, and what is written with a file is answered', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await slackTrigger(node);
  const file = { channel: 'C8', subtype: 'file_share', files: [{ id: 'F1', name: 'plan.pdf' }] };
  await send(node, trigger, said('', { ...file, ts: '1700000001.000100' }));
  await send(node, trigger, said('is 1 &lt; 2 &amp; &lt;!channel&gt; mute?', file));
  const heard = () => slack.heard.filter(({ body }) => JSON.parse(body).channel === 'C8');
  await eventually(() => heard().length === 1, { everyMs: 50 });
  t.is(JSON.parse(heard()[0]?.body ?? '').text, 'echo: is 1 &lt; 2 &amp; &lt;!channel&gt; mute?');
  const runs = await executionsOf(node, trigger);
  t.deepEqual(
    runs.map(({ input_preview: input }) => input),
    ['is 1 < 2 & <!channel> mute?'],
    'a file alone runs nothing',
  );
});

test('the address is verified, and repeats, apps and edits run nothing', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await slackTrigger(node);
  const verified = await send(node, trigger, { type: 'url_verification', challenge: 'abc', token: 'x' });
  t.is(verified.status, 200);
  t.deepEqual(verified.json, { challenge: 'abc' });
  const repeated = { headers: { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' } };
  for (const answer of [
    await send(node, trigger, said('again'), repeated),
    await send(node, trigger, said('app', { bot_id: 'B1' })),
    await send(node, trigger, said('edit', { subtype: 'message_changed' })),
    await send(node, trigger, { type: 'event_callback', event: { type: 'reaction_added', user: 'U1' } }),
  ]) {
    t.is(answer.status, 200);
  }
  t.deepEqual(await executionsOf(node, trigger), []);
});

test('a signature that is missing, false or five minutes old is refused', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await slackTrigger(node);
  for (const wrong of [
    { secret: 'other' },
    { ageSeconds: 310 },
    { headers: { 'x-slack-signature': '' } },
    { headers: { 'x-slack-request-timestamp': '' } },
  ]) {
    const { status, json } = await send(node, trigger, said('hi'), wrong);
    t.is(status, 401);
    t.is(json.error, 'invalid_signature');
  }
  t.deepEqual(await executionsOf(node, trigger), []);
});

test('a message that Slack refuses with a success status is a failed delivery', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await slackTrigger(node);
  await send(node, trigger, said('hi', { channel: 'C404' }));
  const failed = await eventually(
    async () => (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivery_failed'),
    { everyMs: 50 },
  );
  t.is(failed.status, 'completed');
});

test('a fault of Slack that passes delays an answer, and all of it arrives', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await slackTrigger(node);
  const paragraphs = ['one', 'two'].map((word) => `${word} `.repeat(700).trim());
  await send(node, trigger, said(paragraphs.join('\n\n'), { channel: 'C500' }));
  await eventually(
    async () => (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivered'),
    { everyMs: 50 },
  );
  const texts = slack.heard.map(({ body }) => JSON.parse(body)).filter(({ channel }) => channel === 'C500');
  t.deepEqual(
    texts.map(({ text }) => text.slice(0, 5)),
    ['(1/2)', '(1/2)', '(2/2)'],
  );
});
