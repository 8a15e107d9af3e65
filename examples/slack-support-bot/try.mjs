// Says something to the bot as Slack would, and prints what the bot posts. This program is Slack and the shop at once.
import { createHmac } from 'node:crypto';
import { webhookOf } from '../connect.mjs';
import { standIn } from '../stand-in.mjs';

const words = process.argv[2] ?? 'Please find order 1042';
const { signing_secret: signingSecret } = JSON.parse(process.env.SLACK_SECRET ?? '{}');
if (signingSecret === undefined)
  throw new Error('SLACK_SECRET is missing: the same value as for troupe apply.');

const server = await standIn(8301, async ({ url, body }) => {
  if (url.pathname === '/orders')
    return { number: Number(url.searchParams.get('number')), status: 'shipped' };
  // chat.postMessage
  console.log(`bot, in the thread ${body.thread_ts}: ${body.text}`);
  setImmediate(() => server.close());
  return { ok: true };
});

const now = Date.now() / 1_000;
const event = {
  type: 'app_mention',
  user: 'U1',
  channel: 'C1',
  ts: now.toFixed(6),
  text: `<@U0BOT> ${words}`,
};
const body = JSON.stringify({ type: 'event_callback', team_id: 'T1', event_id: `Ev${now}`, event });
const timestamp = String(Math.floor(now));
const signature = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
const response = await fetch(await webhookOf('slack-support'), {
  method: 'POST',
  body,
  headers: {
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${signature}`,
  },
});
if (!response.ok) {
  server.close();
  throw new Error(`${response.status} ${await response.text()}`);
}
